/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines, words and numbers of text: of tables and of settings.
 *
 * The kernel and tallyctl compile this same code, so that both refuse the same
 * text. The text has a length and needs no NUL: a NUL is an ordinary byte, no
 * blank, and so fails in every number and every name.
 *
 * Lines end at \n, the last one also at the end of the text. Blanks are space,
 * tab and \r (hence CRLF is fine). Numbers are [0-9]+: no sign, no hex; leading
 * zeros mean nothing.
 */
#ifndef TALLY_WORDS_H
#define TALLY_WORDS_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
#endif

/* Device numbers as the kernel's dev_t holds them: 12 and 20 bits. */
#define TALLY_WORD_MAJORS	(1U << 12)
#define TALLY_WORD_MINORS	(1U << 20)

/* What is left of a text or of a line: a cursor and the end. */
struct tally_words {
	const char *at;
	const char *end;
};

struct tally_word {
	const char *at;
	unsigned int len;
};

/*
 * The next line that says something, without its \n; blank lines and those
 * that begin with # are skipped. False at the end of the text.
 */
bool tally_next_line(struct tally_words *text, struct tally_words *line);

/* The next word of a line. False when there is none. */
bool tally_next_word(struct tally_words *line, struct tally_word *word);

bool tally_word_is(const struct tally_word *word, const char *text);

/*
 * -EINVAL: not a number, -ERANGE: one that is too large; *value is then left
 * as it was.
 */
int tally_word_u64(const struct tally_word *word, u64 *value);
int tally_word_u32(const struct tally_word *word, u32 *value);

/* "major:minor". Errors as above. */
int tally_word_dev(const struct tally_word *word, u32 *major, u32 *minor);

#endif /* TALLY_WORDS_H */

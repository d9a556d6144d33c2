// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines, words and numbers of text; compiled into tally_core and into the tools.
 * Nothing here reads a byte at or beyond the end it was given.
 */
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/limits.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <string.h>
#define EXPORT_SYMBOL_GPL(name)	_Static_assert(1, #name)
#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#endif

#include "words.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct tally_words *line)
{
	while (line->at < line->end && is_blank(*line->at))
		line->at++;
}

bool tally_next_line(struct tally_words *text, struct tally_words *line)
{
	while (text->at < text->end) {
		const char *newline = memchr(text->at, '\n',
					     text->end - text->at);

		line->at = text->at;
		line->end = newline ? newline : text->end;
		text->at = newline ? newline + 1 : text->end;

		skip_blanks(line);
		if (line->at < line->end && *line->at != '#')
			return true;
	}
	return false;
}
EXPORT_SYMBOL_GPL(tally_next_line);

bool tally_next_word(struct tally_words *line, struct tally_word *word)
{
	skip_blanks(line);
	if (line->at >= line->end)
		return false;

	word->at = line->at;
	while (line->at < line->end && !is_blank(*line->at))
		line->at++;
	word->len = line->at - word->at;
	return true;
}
EXPORT_SYMBOL_GPL(tally_next_word);

bool tally_word_is(const struct tally_word *word, const char *text)
{
	return word->len == strlen(text) && !memcmp(word->at, text, word->len);
}
EXPORT_SYMBOL_GPL(tally_word_is);

/*
 * Junk anywhere is -EINVAL even behind too many digits: "what is this" comes
 * before "how much is it".
 */
static int parse(const char *at, unsigned int len, u64 max, u64 *value)
{
	bool over = false;
	u64 sum = 0;

	if (!len)
		return -EINVAL;
	for (; len; at++, len--) {
		unsigned int digit = (unsigned char)*at - '0';

		if (digit > 9)
			return -EINVAL;
		if (sum > (U64_MAX - digit) / 10)
			over = true;
		else
			sum = sum * 10 + digit;
	}
	if (over || sum > max)
		return -ERANGE;
	*value = sum;
	return 0;
}

int tally_word_u64(const struct tally_word *word, u64 *value)
{
	return parse(word->at, word->len, U64_MAX, value);
}
EXPORT_SYMBOL_GPL(tally_word_u64);

int tally_word_u32(const struct tally_word *word, u32 *value)
{
	u64 wide = 0;
	int ret = parse(word->at, word->len, U32_MAX, &wide);

	if (!ret)
		*value = wide;
	return ret;
}
EXPORT_SYMBOL_GPL(tally_word_u32);

int tally_word_dev(const struct tally_word *word, u32 *major, u32 *minor)
{
	const char *colon = word->len ? memchr(word->at, ':', word->len) : NULL;
	unsigned int before, after;
	int ret_major, ret_minor;
	u64 first = 0, second = 0;

	if (!colon)
		return -EINVAL;
	before = colon - word->at;
	after = word->len - before - 1;

	ret_major = parse(word->at, before, TALLY_WORD_MAJORS - 1, &first);
	ret_minor = parse(colon + 1, after, TALLY_WORD_MINORS - 1, &second);
	if (ret_major == -EINVAL || ret_minor == -EINVAL)
		return -EINVAL;
	if (ret_major || ret_minor)
		return -ERANGE;
	*major = first;
	*minor = second;
	return 0;
}
EXPORT_SYMBOL_GPL(tally_word_dev);

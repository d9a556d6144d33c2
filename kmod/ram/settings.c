// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be changed while a disk lives: one table for the files in
 * /sys/block/<disk>/ram/ and for RAM_SET, with one reader of numbers.
 */
#include <linux/capability.h>
#include <linux/device.h>
#include <linux/sysfs.h>

#include "core/words.h"
#include "ram/ram.h"

struct setting {
	struct device_attribute attr;
	u64 (*get)(const struct tally_ram *r);
	int (*set)(struct tally_ram *r, u64 value, struct tally_request *rq);
};

/* ------------------------------------------------------------------ values */

static u64 size_get(const struct tally_ram *r)
{
	return (u64)READ_ONCE(r->sectors) << SECTOR_SHIFT;
}

static int size_set(struct tally_ram *r, u64 bytes, struct tally_request *rq)
{
	if (bytes % SECTOR_SIZE)
		return tally_refuse(rq, -EINVAL,
			"size=%llu: not a multiple of %d bytes", bytes,
			SECTOR_SIZE);
	return ram_resize(r, bytes >> SECTOR_SHIFT, rq);
}

static int refuse_untimed(const struct tally_ram *r, const char *name,
			  u64 value, struct tally_request *rq)
{
	if (r->completion == COMPLETE_TIMER)
		return 0;
	return tally_refuse(rq, -EINVAL, "%s=%llu: only with completion=timer",
			    name, value);
}

static u64 completion_ns_get(const struct tally_ram *r)
{
	return READ_ONCE(r->completion_ns);
}

static int completion_ns_set(struct tally_ram *r, u64 ns,
			     struct tally_request *rq)
{
	return refuse_untimed(r, "completion_ns", ns, rq) ?:
	       ram_set_delay(r, ns, r->jitter_ns, rq);
}

static u64 jitter_ns_get(const struct tally_ram *r)
{
	return READ_ONCE(r->jitter_ns);
}

static int jitter_ns_set(struct tally_ram *r, u64 ns, struct tally_request *rq)
{
	return refuse_untimed(r, "jitter_ns", ns, rq) ?:
	       ram_set_delay(r, r->completion_ns, ns, rq);
}

static u64 iops_get(const struct tally_ram *r)
{
	return READ_ONCE(r->cap.iops);
}

static u64 bandwidth_get(const struct tally_ram *r)
{
	return READ_ONCE(r->cap.bandwidth);
}

/* ------------------------------------------------------------------- paths */

static int set(struct tally_ram *r, const struct setting *s, const char *text,
	       size_t len, struct tally_request *rq)
{
	struct tally_words words = { .at = text, .end = text + len };
	struct tally_word word, more;
	u64 value;
	int err;

	err = tally_next_word(&words, &word) &&
	      !tally_next_word(&words, &more) ?
	      tally_word_u64(&word, &value) : -EINVAL;
	if (err)
		return tally_refuse(rq, err, "%s=%.*s: %s", s->attr.attr.name,
				    (int)min_t(size_t, len, 32), text,
				    err == -ERANGE ? "too large" :
						     "not a number");
	err = tally_disk_lock(&r->td, rq);
	if (err)
		return err;
	err = s->set(r, value, rq);
	tally_disk_unlock(&r->td);
	return err;
}

static const struct setting *setting_of(struct attribute *attr)
{
	return container_of(attr, struct setting, attr.attr);
}

static ssize_t setting_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%llu\n",
			  setting_of(&attr->attr)->get(disk_to_ram(dev_to_disk(dev))));
}

static ssize_t setting_store(struct device *dev, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	const size_t len = count && buf[count - 1] == '\n' ? count - 1 : count;
	int err;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	err = set(disk_to_ram(dev_to_disk(dev)), setting_of(&attr->attr), buf,
		  len, NULL);
	return err ?: count;
}

#define SETTING(name, setter)						\
	static struct setting name##_setting = {			\
		.attr = __ATTR(name, 0644, setting_show, setting_store),\
		.get = name##_get, .set = (setter),			\
	}

SETTING(size, size_set);
SETTING(completion_ns, completion_ns_set);
SETTING(jitter_ns, jitter_ns_set);
SETTING(iops, ram_cap_iops);
SETTING(bandwidth, ram_cap_bandwidth);

static struct attribute *settings[] = {
	&size_setting.attr.attr,
	&completion_ns_setting.attr.attr,
	&jitter_ns_setting.attr.attr,
	&iops_setting.attr.attr,
	&bandwidth_setting.attr.attr,
	NULL
};

#define LINE_MAX	(sizeof("completion_ns 18446744073709551615\n") - 1)
static_assert((ARRAY_SIZE(settings) - 1) * LINE_MAX < RAM_SETTINGS_LEN);

const struct attribute_group ram_settings_group = {
	.name = "ram",
	.attrs = settings,
};

/**
 * ram_setting_set() - RAM_SET
 * @r: the disk, not locked
 * @name: of a file in ram/
 * @value: what one would write to it
 * @rq: where to say why not
 */
int ram_setting_set(struct tally_ram *r, const char *name, const char *value,
		    struct tally_request *rq)
{
	struct attribute **at;

	for (at = settings; *at; at++)
		if (!strcmp((*at)->name, name))
			return set(r, setting_of(*at), value, strlen(value),
				   rq);
	return tally_refuse(rq, -EINVAL, "%s: no such setting", name);
}

/* All of them, "NAME VALUE\n" each; returns the length. */
int ram_settings_text(const struct tally_ram *r, char *text, size_t size)
{
	struct attribute **at;
	int len = 0;

	for (at = settings; *at; at++)
		len += scnprintf(text + len, size - len, "%s %llu\n",
				 (*at)->name, setting_of(*at)->get(r));
	return len;
}

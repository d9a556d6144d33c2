// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/block/<disk>/tally/: one value per file.  docs/sysfs.md has each file's
 * format, unit and errors.
 */
#include <linux/capability.h>
#include <linux/device.h>
#include <linux/sysfs.h>

#include "core/internal.h"

static struct tally_disk *dev_to_td(struct device *dev)
{
	return dev_to_disk(dev)->private_data;
}

static union tally_modes modes_now(struct tally_disk *td)
{
	return tally_disk_modes(td);
}

/* Of blk-mq disks the kernel knows what is in flight, not its cells. */
static void snapshot(struct tally_disk *td, struct tally_snapshot *s)
{
	unsigned int inflight[2] = { };

	if (td->ops->native_inflight &&
	    modes_now(td).inflight == INFLIGHT_NATIVE)
		td->ops->native_inflight(td, inflight);
	if (inflight[0] + inflight[1])
		tally_native_before_read(&td->acct);
	tally_acct_snapshot(&td->acct, s);
	if (td->ops->native_inflight && s->modes.inflight == INFLIGHT_NATIVE)
		memcpy(s->inflight, inflight, sizeof(inflight));
}

static ssize_t inflight_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	struct tally_snapshot s;

	snapshot(dev_to_td(dev), &s);
	return sysfs_emit(buf, "%u %u\n", s.inflight[0], s.inflight[1]);
}
static DEVICE_ATTR_RO(inflight);

static u64 ms(struct block_device *bdev, int group)
{
	return div_u64(tally_stat_read(bdev, nsecs[group]), NSEC_PER_MSEC);
}

/* The 17 fields of the kernel's own stat file, from the mode's point of view. */
static ssize_t stat_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	struct tally_disk *td = dev_to_td(dev);
	struct block_device *b = td->acct.whole;
	struct tally_snapshot s;

	snapshot(td, &s);
	return sysfs_emit(buf,
		"%lu %lu %lu %llu %lu %lu %lu %llu %u %llu %llu %lu %lu %lu %llu %lu %llu\n",
		tally_stat_read(b, ios[STAT_READ]),
		tally_stat_read(b, merges[STAT_READ]),
		tally_stat_read(b, sectors[STAT_READ]),
		ms(b, STAT_READ),
		tally_stat_read(b, ios[STAT_WRITE]),
		tally_stat_read(b, merges[STAT_WRITE]),
		tally_stat_read(b, sectors[STAT_WRITE]),
		ms(b, STAT_WRITE),
		s.inflight[0] + s.inflight[1], s.busy_ms, s.queue_ms,
		tally_stat_read(b, ios[STAT_DISCARD]),
		tally_stat_read(b, merges[STAT_DISCARD]),
		tally_stat_read(b, sectors[STAT_DISCARD]),
		ms(b, STAT_DISCARD),
		tally_stat_read(b, ios[STAT_FLUSH]),
		ms(b, STAT_FLUSH));
}
static DEVICE_ATTR_RO(stat);

/* A store of one word: into the profile, or onto one axis. */
static ssize_t store_word(struct device *dev, int axis, const char *buf,
			  size_t count)
{
	const char *mode[TALLY_AXES] = { };
	char word[TALLY_PROFILE_LEN];
	size_t len = count;
	int err;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	/* One word, one newline at most, no NUL inside; unknown if too long. */
	if (len && buf[len - 1] == '\n')
		len--;
	if (!len || len >= sizeof(word) || strnlen(buf, len) != len)
		return -EINVAL;
	memcpy(word, buf, len);
	word[len] = '\0';
	if (axis >= 0)
		mode[axis] = word;
	err = tally_disk_set(dev_to_td(dev), axis < 0 ? word : "", mode, NULL);
	return err ? err : count;
}

static ssize_t profile_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct tally_disk *td = dev_to_td(dev);

	return sysfs_emit(buf, "%s\n", tally_profile_name(td, modes_now(td)));
}

static ssize_t profile_store(struct device *dev, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	return store_word(dev, -1, buf, count);
}
static DEVICE_ATTR_RW(profile);

static ssize_t profiles_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	unsigned int i;
	int len = 0;

	for (i = 0; i < tally_profile_count; i++)
		len += sysfs_emit_at(buf, len, "%s%s", i ? " " : "",
				     tally_profiles[i].name);
	return len + sysfs_emit_at(buf, len, "\n");
}
static DEVICE_ATTR_RO(profiles);

/*
 * What I/O that starts now latches: none, when queue/iostats is 0.  Of blk-mq
 * disks queue/iostats says whether the kernel counts, and then we do not.
 */
static union tally_modes effective(struct tally_disk *td)
{
	const union tally_modes native = { .inflight = INFLIGHT_NATIVE };
	const union tally_modes none = { };
	const bool iostats = blk_queue_io_stat(td->disk->queue);
	const union tally_modes m = modes_now(td);

	if (!td->ops->native_inflight)
		return iostats ? m : none;
	if (iostats)
		return native;
	return m.inflight == INFLIGHT_NATIVE ? none : m;
}

static ssize_t effective_show(struct device *dev,
			      struct device_attribute *attr, char *buf)
{
	struct tally_disk *td = dev_to_td(dev);
	const union tally_modes m = effective(td);

	return sysfs_emit(buf, "%s\n",
			  m.all ? tally_profile_name(td, m) : "none");
}
static DEVICE_ATTR_RO(effective);

static ssize_t switches_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%llu\n",
			  READ_ONCE(dev_to_td(dev)->acct.switches));
}
static DEVICE_ATTR_RO(switches);

/* On or off, then what came of it since it was switched on. */
static ssize_t shadow_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct tally_acct *a = &dev_to_td(dev)->acct;
	const union tally_modes m = { .all = READ_ONCE(a->modes.all) };

	return sysfs_emit(buf, "%u %llu %llu %u\n", tally_has_shadow(m),
			  READ_ONCE(a->shadow.checks),
			  READ_ONCE(a->shadow.differences),
			  (unsigned int)atomic_read(&a->shadow.negative));
}

static ssize_t shadow_store(struct device *dev, struct device_attribute *attr,
			    const char *buf, size_t count)
{
	const bool on = buf[0] == '1';
	int err;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (!sysfs_streq(buf, on ? "1" : "0") || strnlen(buf, count) != count)
		return -EINVAL;
	err = tally_disk_set_shadow(dev_to_td(dev), on);
	return err ? err : count;
}
static DEVICE_ATTR_RW(shadow);

static ssize_t name_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%s\n", dev_to_td(dev)->name);
}
static DEVICE_ATTR_RO(name);

static ssize_t uuid_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%s\n", dev_to_td(dev)->uuid);
}
static DEVICE_ATTR_RO(uuid);

/* One axis: the word in force. */
static ssize_t show_axis(struct device *dev, enum tally_axis axis, char *buf)
{
	union tally_modes m = modes_now(dev_to_td(dev));

	return sysfs_emit(buf, "%s\n", tally_mode_name(axis, m.axis[axis]));
}

#define AXIS_ATTR(word, AXIS)						\
static ssize_t mode_##word##_show(struct device *dev,			\
				  struct device_attribute *attr, char *buf) \
{									\
	return show_axis(dev, TALLY_AXIS_##AXIS, buf);			\
}									\
static ssize_t mode_##word##_store(struct device *dev,			\
				   struct device_attribute *attr,	\
				   const char *buf, size_t count)	\
{									\
	return store_word(dev, TALLY_AXIS_##AXIS, buf, count);		\
}									\
static DEVICE_ATTR_RW(mode_##word)

AXIS_ATTR(inflight, INFLIGHT);
AXIS_ATTR(pending, PENDING);
AXIS_ATTR(ticks, TICKS);
AXIS_ATTR(clock, CLOCK);

static struct attribute *tally_attrs[] = {
	&dev_attr_inflight.attr,
	&dev_attr_stat.attr,
	&dev_attr_profile.attr,
	&dev_attr_profiles.attr,
	&dev_attr_mode_inflight.attr,
	&dev_attr_mode_pending.attr,
	&dev_attr_mode_ticks.attr,
	&dev_attr_mode_clock.attr,
	&dev_attr_effective.attr,
	&dev_attr_switches.attr,
	&dev_attr_shadow.attr,
	&dev_attr_name.attr,
	&dev_attr_uuid.attr,
	NULL
};

const struct attribute_group tally_disk_group = {
	.name = "tally",
	.attrs = tally_attrs,
};
EXPORT_SYMBOL_GPL(tally_disk_group);

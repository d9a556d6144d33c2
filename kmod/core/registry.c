// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names, UUIDs and the list of disks.  A name is taken before the disk is
 * added and found after, so that two creators of one name have one winner and
 * nobody meets a disk that is half there.
 */
#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "core/internal.h"

static DEFINE_MUTEX(registry_lock);
static LIST_HEAD(registry);	/* every claimed disk, listed or not */

int tally_disk_init(struct tally_disk *td, const struct tally_disk_ops *ops,
		    const char *profile, struct tally_request *rq)
{
	union tally_modes m = { };
	int err;

	td->ops = ops;
	mutex_init(&td->switch_lock);
	INIT_LIST_HEAD(&td->node);
	err = tally_modes_resolve(&m, ops->kind == TALLY_KIND_MAP, profile,
				  NULL, &td->profile, rq);
	if (err)
		return err;
	err = tally_acct_init(&td->acct);
	if (err)
		return err;
	err = tally_acct_prepare(m, &td->acct.nodes);
	if (err) {
		tally_acct_exit(&td->acct);
		return err;
	}
	td->acct.modes = m;
	return 0;
}
EXPORT_SYMBOL_GPL(tally_disk_init);

void tally_disk_exit(struct tally_disk *td)
{
	tally_acct_exit(&td->acct);
}
EXPORT_SYMBOL_GPL(tally_disk_exit);

void tally_disk_attach(struct tally_disk *td, struct gendisk *disk)
{
	td->disk = disk;
	td->acct.whole = disk->part0;
	disk->private_data = td;
}
EXPORT_SYMBOL_GPL(tally_disk_attach);

/* As the kernel calls our disks.  Those without a name are called so by us too. */
static bool is_kernel_name(const char *name)
{
	static const char *const kinds[] = { "tnull", "tram", "tmap" };
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		len = strlen(kinds[i]);
		if (!strncmp(name, kinds[i], len) && name[len] &&
		    !name[len + strspn(name + len, "0123456789")])
			return true;
	}
	return false;
}

static int check_name(const char *name, struct tally_request *rq)
{
	static const char *const reserved[] = { "control", ".", ".." };
	const size_t len = strnlen(name, TALLY_NAME_LEN);
	size_t i;

	if (len == TALLY_NAME_LEN)
		return tally_refuse(rq, -ENAMETOOLONG,
			"name %.32s...: over the limit of %d bytes", name,
			TALLY_NAME_LEN - 1);
	if (!len)
		return tally_refuse(rq, -EINVAL, "the name is empty");
	for (i = 0; i < ARRAY_SIZE(reserved); i++)
		if (!strcmp(name, reserved[i]))
			return tally_refuse(rq, -EINVAL,
				"name %s is reserved", name);
	if (is_kernel_name(name))
		return tally_refuse(rq, -EINVAL,
			"name %s is one that the kernel gives", name);
	for (i = 0; i < len; i++) {
		if (name[i] == '/')
			return tally_refuse(rq, -EINVAL,
				"name %s holds a slash", name);
		if (iscntrl(name[i]))
			return tally_refuse(rq, -EINVAL,
				"name holds the control character 0x%02x at byte %zu",
				(unsigned char)name[i], i);
	}
	return 0;
}

static int check_uuid(const char *uuid, struct tally_request *rq)
{
	const size_t len = strnlen(uuid, TALLY_UUID_LEN);
	size_t i;

	if (len > TALLY_UUID_MAX)
		return tally_refuse(rq, -ENAMETOOLONG,
			"UUID %.32s...: over the limit of %d bytes", uuid,
			TALLY_UUID_MAX);
	for (i = 0; i < len; i++)
		if (iscntrl(uuid[i]))
			return tally_refuse(rq, -EINVAL,
				"UUID holds the control character 0x%02x at byte %zu",
				(unsigned char)uuid[i], i);
	return 0;
}

static int check_unique(const char *name, const char *uuid,
			struct tally_request *rq)
{
	struct tally_disk *other;

	list_for_each_entry(other, &registry, node) {
		if (!strcmp(other->name, name))
			return tally_refuse(rq, -EEXIST,
				"name %s is taken by %s", name,
				other->disk->disk_name);
		if (*uuid && !strcmp(other->uuid, uuid))
			return tally_refuse(rq, -EEXIST,
				"UUID %s is taken by %s", uuid, other->name);
	}
	return 0;
}

int tally_disk_claim(struct tally_disk *td, const char *name, const char *uuid,
		     struct tally_request *rq)
{
	int err;

	err = *name ? check_name(name, rq) : 0;
	if (!err)
		err = check_uuid(uuid, rq);
	if (err)
		return err;

	if (!*name)
		name = td->disk->disk_name;
	mutex_lock(&registry_lock);
	err = check_unique(name, uuid, rq);
	if (!err) {
		strscpy(td->name, name, sizeof(td->name));
		strscpy(td->uuid, uuid, sizeof(td->uuid));
		list_add_tail(&td->node, &registry);
	}
	mutex_unlock(&registry_lock);
	return err;
}
EXPORT_SYMBOL_GPL(tally_disk_claim);

void tally_disk_publish(struct tally_disk *td)
{
	mutex_lock(&registry_lock);
	td->listed = true;
	mutex_unlock(&registry_lock);
}
EXPORT_SYMBOL_GPL(tally_disk_publish);

bool tally_disk_withdraw(struct tally_disk *td)
{
	bool was;

	mutex_lock(&registry_lock);
	was = td->listed;
	td->listed = false;
	mutex_unlock(&registry_lock);
	return was;
}
EXPORT_SYMBOL_GPL(tally_disk_withdraw);

void tally_disk_unclaim(struct tally_disk *td)
{
	mutex_lock(&registry_lock);
	list_del_init(&td->node);
	mutex_unlock(&registry_lock);
}
EXPORT_SYMBOL_GPL(tally_disk_unclaim);

void tally_disk_kill(struct tally_disk *td)
{
	mutex_lock(&td->switch_lock);
	td->dead = true;
	mutex_unlock(&td->switch_lock);
}
EXPORT_SYMBOL_GPL(tally_disk_kill);

static struct tally_disk *find(const struct tally_ref *ref)
{
	struct tally_disk *td;

	list_for_each_entry(td, &registry, node) {
		if (!td->listed)
			continue;
		if (*ref->name ? !strcmp(td->name, ref->name)
			       : disk_devt(td->disk) ==
				 MKDEV(ref->major, ref->minor))
			return td;
	}
	return NULL;
}

/* Names the disk as the caller did. */
static int refuse_ref(struct tally_request *rq, int error,
		      const struct tally_ref *ref, const char *why)
{
	if (*ref->name)
		return tally_refuse(rq, error, "%s: %s", ref->name, why);
	return tally_refuse(rq, error, "%u:%u: %s", ref->major, ref->minor,
			    why);
}

struct tally_disk *tally_disk_get(const struct tally_ref *ref,
				  enum tally_kind kind,
				  struct tally_request *rq)
{
	struct tally_disk *td;
	int err = 0;

	if (strnlen(ref->name, TALLY_NAME_LEN) == TALLY_NAME_LEN)
		return ERR_PTR(tally_refuse(rq, -ENAMETOOLONG,
			"name %.32s...: over the limit of %d bytes", ref->name,
			TALLY_NAME_LEN - 1));
	if (*ref->name && (ref->major || ref->minor))
		return ERR_PTR(tally_refuse(rq, -EINVAL,
			"%s: by name and by number %u:%u at once", ref->name,
			ref->major, ref->minor));
	if (ref->major >> (32 - MINORBITS) || ref->minor >> MINORBITS)
		return ERR_PTR(refuse_ref(rq, -ENXIO, ref, "no such disk"));

	mutex_lock(&registry_lock);
	td = find(ref);
	if (!td)
		err = refuse_ref(rq, -ENXIO, ref, "no such disk");
	else if (kind != TALLY_KIND_ANY && td->ops->kind != kind)
		err = refuse_ref(rq, -ENODEV, ref,
				 kind == TALLY_KIND_MAP ?
				 "not a mapped device" : "not a null or RAM disk");
	else if (!try_module_get(td->ops->owner))
		err = refuse_ref(rq, -ENODEV, ref, "its module is unloading");
	else
		get_device(disk_to_dev(td->disk));
	mutex_unlock(&registry_lock);
	return err ? ERR_PTR(err) : td;
}
EXPORT_SYMBOL_GPL(tally_disk_get);

void tally_disk_put(struct tally_disk *td)
{
	struct module *owner = td->ops->owner;

	/*
	 * May be the last reference to the disk.  The module waits for those on
	 * its way out; not so a module whose init fails for references to it.
	 */
	module_put(owner);
	put_device(disk_to_dev(td->disk));
}
EXPORT_SYMBOL_GPL(tally_disk_put);

bool tally_disk_owns(struct block_device *bdev)
{
	struct tally_disk *td;
	bool ours = false;

	mutex_lock(&registry_lock);
	list_for_each_entry(td, &registry, node)
		ours |= td->disk == bdev->bd_disk;
	mutex_unlock(&registry_lock);
	return ours;
}
EXPORT_SYMBOL_GPL(tally_disk_owns);

void tally_disk_fill(struct tally_disk *td, struct tally_disk_info *info)
{
	union tally_modes m = tally_disk_modes(td);
	struct gendisk *disk = td->disk;
	int axis;

	info->kind = td->ops->kind;
	info->major = MAJOR(disk_devt(disk));
	info->minor = MINOR(disk_devt(disk));
	info->sectors = get_capacity(disk);
	info->open_count = disk_openers(disk);
	info->block_size = queue_logical_block_size(disk->queue);
	info->switches = READ_ONCE(td->acct.switches);
	if (get_disk_ro(disk))
		info->state |= TALLY_DISK_READONLY;
	strscpy(info->name, td->name, sizeof(info->name));
	strscpy(info->uuid, td->uuid, sizeof(info->uuid));
	strscpy(info->disk, disk->disk_name, sizeof(info->disk));
	strscpy(info->profile, tally_profile_name(td, m),
		sizeof(info->profile));
	for (axis = 0; axis < TALLY_AXES; axis++)
		strscpy(info->mode[axis], tally_mode_name(axis, m.axis[axis]),
			TALLY_WORD_LEN);
	td->ops->info(td, info);
}

int tally_registry_fill(enum tally_kind kind, struct tally_disk_info **list,
			size_t *count)
{
	struct tally_disk *td;
	size_t n = 0;
	int err = 0;

	mutex_lock(&registry_lock);
	list_for_each_entry(td, &registry, node)
		n++;
	*count = 0;
	*list = kvcalloc(max_t(size_t, n, 1), sizeof(**list), GFP_KERNEL);
	if (!*list)
		err = -ENOMEM;
	else
		list_for_each_entry(td, &registry, node)
			if (td->listed && (kind == TALLY_KIND_ANY ||
					   kind == td->ops->kind))
				tally_disk_fill(td, *list + (*count)++);
	mutex_unlock(&registry_lock);
	return err;
}

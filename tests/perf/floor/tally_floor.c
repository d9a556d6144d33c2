// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two throw-away disks that show the floor of what can be measured:
 *
 *   tfloor_empty   ends every bio at once: submit_bio and bio_endio
 *   tfloor_remap   sends every bio to another disk, nothing else: the floor of
 *                  stacking.  Made when remap=major:minor is given.
 *
 * For measurement only: nothing is checked, and unload needs idle disks.
 */
#include <linux/module.h>
#include <linux/stringify.h>

#include "compat.h"

#define FLOOR_SECTORS	(64ULL << (20 - SECTOR_SHIFT))

static char *remap = "";
module_param(remap, charp, 0444);
MODULE_PARM_DESC(remap, "major:minor of the disk below tfloor_remap");

static struct gendisk *empty_disk, *remap_disk;
static struct tally_bdev_handle handle;
static struct block_device *lower;

static void empty_submit(struct bio *bio)
{
	bio_endio(bio);
}

static void remap_submit(struct bio *bio)
{
	bio_set_dev(bio, lower);
	submit_bio_noacct(bio);
}

static const struct block_device_operations empty_fops = {
	.owner = THIS_MODULE, .submit_bio = empty_submit,
};

static const struct block_device_operations remap_fops = {
	.owner = THIS_MODULE, .submit_bio = remap_submit,
};

static struct gendisk *add(const char *name, u64 sectors,
			   const struct block_device_operations *fops)
{
	const struct tally_shape shape = { .block_size = SECTOR_SIZE };
	struct gendisk *disk = tally_alloc_disk(&shape, NUMA_NO_NODE);
	int err;

	if (IS_ERR(disk))
		return disk;
	strscpy(disk->disk_name, name, sizeof(disk->disk_name));
	disk->fops = fops;
	disk->flags |= GENHD_FL_NO_PART;
	set_capacity(disk, sectors);
	err = device_add_disk(NULL, disk, NULL);
	if (err) {
		put_disk(disk);
		return ERR_PTR(err);
	}
	return disk;
}

static void drop(struct gendisk *disk)
{
	del_gendisk(disk);
	put_disk(disk);
}

static int add_remap(void)
{
	unsigned int major, minor;

	if (sscanf(remap, "%u:%u", &major, &minor) != 2)
		return -EINVAL;
	lower = tally_bdev_open(&handle, MKDEV(major, minor), BLK_OPEN_READ,
				&handle);
	if (IS_ERR(lower))
		return PTR_ERR(lower);
	remap_disk = add("tfloor_remap", bdev_nr_sectors(lower), &remap_fops);
	if (!IS_ERR(remap_disk))
		return 0;
	tally_bdev_close(&handle);
	return PTR_ERR(remap_disk);
}

static int __init floor_init(void)
{
	int err = 0;

	empty_disk = add("tfloor_empty", FLOOR_SECTORS, &empty_fops);
	if (IS_ERR(empty_disk))
		return PTR_ERR(empty_disk);
	if (*remap)
		err = add_remap();
	if (err)
		drop(empty_disk);
	return err;
}

static void __exit floor_exit(void)
{
	if (*remap) {
		drop(remap_disk);
		tally_bdev_close(&handle);
	}
	drop(empty_disk);
}

module_init(floor_init);
module_exit(floor_exit);

MODULE_DESCRIPTION("blktally: floors of measurement");
MODULE_AUTHOR("The blktally developers");
MODULE_LICENSE("GPL");

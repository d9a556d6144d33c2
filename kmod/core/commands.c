// SPDX-License-Identifier: GPL-2.0-only
/* The commands of tally_core itself: what is there, and switching it. */
#include <linux/module.h>
#include <linux/slab.h>

#include "core/internal.h"

static int run_info(struct tally_request *rq)
{
	struct tally_info *info = rq->arg;

	if (info->pad)
		return tally_refuse(rq, -EINVAL, "padding is not zero");
	memset(info, 0, sizeof(*info));
	info->version[0] = TALLY_VERSION_MAJOR;
	info->version[1] = TALLY_VERSION_MINOR;
	info->version[2] = TALLY_VERSION_PATCH;
	info->features = tally_commands_features();
	info->name_max = TALLY_NAME_LEN - 1;
	info->uuid_max = TALLY_UUID_MAX;
	info->table_max = TALLY_TABLE_MAX;
	info->segments_max = TALLY_SEGMENTS_MAX;
	info->depth_max = TALLY_DEPTH_MAX;
	info->gen_threads_max = TALLY_GEN_THREADS_MAX;
	info->gen_depth_max = TALLY_GEN_DEPTH_MAX;
	info->gen_block_max = TALLY_GEN_BLOCK_MAX;
	return 0;
}

static int run_list(struct tally_request *rq)
{
	struct tally_list *req = rq->arg;
	struct tally_disk_info *list;
	size_t count;
	int err;

	if (req->kind > TALLY_KIND_MAP)
		return tally_refuse(rq, -EINVAL, "kind %u: at most %u",
				    req->kind, TALLY_KIND_MAP);
	err = tally_registry_fill(req->kind, &list, &count);
	if (!err)
		err = tally_answer_records(rq, req->record_size, req->buf,
					   req->buf_len, &req->buf_used, list,
					   count, sizeof(*list));
	kvfree(list);
	return err;
}

static int run_disk_get(struct tally_request *rq)
{
	struct tally_disk_get *req = rq->arg;
	struct tally_disk *td = tally_disk_get(&req->ref, TALLY_KIND_ANY, rq);

	if (IS_ERR(td))
		return PTR_ERR(td);
	memset(&req->info, 0, sizeof(req->info));
	tally_disk_fill(td, &req->info);
	tally_disk_put(td);
	return 0;
}

static int run_set(struct tally_request *rq)
{
	struct tally_set *req = rq->arg;
	const char *mode[TALLY_AXES];
	struct tally_disk *td;
	int axis, err;

	err = tally_check_string(rq, "profile", req->profile,
				 sizeof(req->profile));
	for (axis = 0; axis < TALLY_AXES && !err; axis++) {
		mode[axis] = req->mode[axis];
		err = tally_check_string(rq, tally_axis_names[axis],
					 mode[axis], TALLY_WORD_LEN);
	}
	if (err)
		return err;

	td = tally_disk_get(&req->ref, TALLY_KIND_ANY, rq);
	if (IS_ERR(td))
		return PTR_ERR(td);
	err = tally_disk_set(td, req->profile, mode, rq);
	tally_disk_put(td);
	return err;
}

static int run_profiles(struct tally_request *rq)
{
	struct tally_records *req = rq->arg;
	struct tally_profile_info *list;
	unsigned int i;
	int axis, err;

	if (req->pad)
		return tally_refuse(rq, -EINVAL, "padding is not zero");
	list = kcalloc(tally_profile_count, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	for (i = 0; i < tally_profile_count; i++) {
		const struct tally_profile *p = &tally_profiles[i];

		strscpy(list[i].name, p->name, sizeof(list[i].name));
		strscpy(list[i].about, p->about, sizeof(list[i].about));
		for (axis = 0; axis < TALLY_AXES; axis++)
			strscpy(list[i].mode[axis],
				tally_mode_name(axis, p->modes.axis[axis]),
				TALLY_WORD_LEN);
	}
	err = tally_answer_records(rq, req->record_size, req->buf,
				   req->buf_len, &req->buf_used, list,
				   tally_profile_count, sizeof(*list));
	kfree(list);
	return err;
}

static int run_modes(struct tally_request *rq)
{
	const unsigned int most = INFLIGHT_MODES + PENDING_MODES +
				  TICKS_MODES + CLOCK_MODES;
	struct tally_records *req = rq->arg;
	struct tally_mode_info *list;
	unsigned int axis, count, i, n = 0;
	int err;

	if (req->pad)
		return tally_refuse(rq, -EINVAL, "padding is not zero");
	list = kcalloc(most, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	for (axis = 0; axis < TALLY_AXES; axis++) {
		const struct tally_mode *modes = tally_axis_modes(axis, &count);

		for (i = 0; i < count; i++, n++) {
			list[n].axis = axis;
			strscpy(list[n].name, modes[i].name,
				sizeof(list[n].name));
			strscpy(list[n].about, modes[i].about,
				sizeof(list[n].about));
		}
	}
	err = tally_answer_records(rq, req->record_size, req->buf,
				   req->buf_len, &req->buf_used, list, n,
				   sizeof(*list));
	kfree(list);
	return err;
}

#define ROW(word, type, fn)	TALLY_COMMAND(word, type, fn, .noio = true)

static const struct tally_command rows[] = {
	ROW(INFO, tally_info, run_info),
	ROW(LIST, tally_list, run_list),
	ROW(DISK_GET, tally_disk_get, run_disk_get),
	ROW(SET, tally_set, run_set),
	ROW(PROFILES, tally_records, run_profiles),
	ROW(MODES, tally_records, run_modes),
};

struct tally_commands tally_core_commands = {
	.owner	= THIS_MODULE,
	.list	= rows,
	.count	= ARRAY_SIZE(rows),
};

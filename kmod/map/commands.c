// SPDX-License-Identifier: GPL-2.0-only
/* The commands of tally_map. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "map/map.h"

static struct tally_map *map_get(const struct tally_ref *ref,
				 struct tally_request *rq)
{
	struct tally_disk *td = tally_disk_get(ref, TALLY_KIND_MAP, rq);

	return IS_ERR(td) ? ERR_CAST(td)
			  : container_of(td, struct tally_map, td);
}

static int run_create(struct tally_request *rq)
{
	struct tally_map_create *req = rq->arg;
	int err;

	err = tally_check_string(rq, "profile", req->profile,
				 sizeof(req->profile));
	if (err)
		return err;
	return tally_map_create(req, rq->head->flags & TALLY_MAP_READONLY, rq);
}

static int run_load(struct tally_request *rq)
{
	struct tally_map_load *req = rq->arg;
	struct tally_table *t;
	struct tally_map *m;
	char *text;
	int err;

	if (req->pad)
		return tally_refuse(rq, -EINVAL, "padding is not zero");
	if (!req->table_len)
		return tally_refuse(rq, -EINVAL, "the table is empty");
	if (req->table_len > TALLY_TABLE_MAX)
		return tally_refuse(rq, -E2BIG,
			"a table of %u bytes: at most %d", req->table_len,
			TALLY_TABLE_MAX);
	m = map_get(&req->ref, rq);
	if (IS_ERR(m))
		return PTR_ERR(m);
	text = vmemdup_user(u64_to_user_ptr(req->table), req->table_len);
	if (IS_ERR(text)) {
		err = PTR_ERR(text);
		goto put;
	}
	t = tally_table_parse(text, req->table_len,
			      rq->head->flags & TALLY_MAP_READONLY, rq);
	kvfree(text);
	err = IS_ERR(t) ? PTR_ERR(t) : tally_map_load(m, t, rq);
put:
	tally_disk_put(&m->td);
	return err;
}

static int with_map(struct tally_request *rq,
		    int (*fn)(struct tally_map *m, struct tally_request *rq))
{
	struct tally_map_op *req = rq->arg;
	struct tally_map *m = map_get(&req->ref, rq);
	int err;

	if (IS_ERR(m))
		return PTR_ERR(m);
	err = fn(m, rq);
	tally_disk_put(&m->td);
	return err;
}

static int suspend(struct tally_map *m, struct tally_request *rq)
{
	return tally_map_suspend(m);
}

static int clear(struct tally_map *m, struct tally_request *rq)
{
	tally_map_clear(m);
	return 0;
}

static int run_resume(struct tally_request *rq)
{
	return with_map(rq, tally_map_resume);
}

static int run_suspend(struct tally_request *rq)
{
	return with_map(rq, suspend);
}

static int run_clear(struct tally_request *rq)
{
	return with_map(rq, clear);
}

static int run_remove(struct tally_request *rq)
{
	return with_map(rq, tally_map_remove);
}

/* The slot that the flags name; under tally_topology. */
static struct tally_table *slot(struct tally_map *m, struct tally_request *rq)
{
	lockdep_assert_held(&tally_topology);
	return rq->head->flags & TALLY_TABLE_INACTIVE ? m->inactive : m->live;
}

static int run_table(struct tally_request *rq)
{
	struct tally_map_table *req = rq->arg;
	struct tally_map *m = map_get(&req->ref, rq);
	struct tally_text text = { };
	struct tally_table *t;
	int err = 0;

	if (IS_ERR(m))
		return PTR_ERR(m);
	mutex_lock(&tally_topology);
	t = slot(m, rq);
	if (t)
		err = tally_table_text(t, rq->head->flags & TALLY_TABLE_STATUS,
				       &text);
	mutex_unlock(&tally_topology);
	if (!err)
		err = tally_answer(req->buf, req->buf_len, &req->buf_used,
				   text.at, text.len);
	kvfree(text.at);
	tally_disk_put(&m->td);
	return err;
}

static int run_deps(struct tally_request *rq)
{
	struct tally_map_deps *req = rq->arg;
	struct tally_map *m = map_get(&req->ref, rq);
	struct tally_dep *deps = NULL;
	unsigned int i, count = 0;
	struct tally_table *t;
	int err = 0;

	if (IS_ERR(m))
		return PTR_ERR(m);
	mutex_lock(&tally_topology);
	t = slot(m, rq);
	if (t) {
		count = t->nr_lowers;
		deps = kvcalloc(count, sizeof(*deps), GFP_KERNEL);
		if (!deps)
			err = -ENOMEM;
	}
	for (i = 0; deps && i < count; i++) {
		deps[i].major = MAJOR(t->flat[i]->bd_dev);
		deps[i].minor = MINOR(t->flat[i]->bd_dev);
	}
	mutex_unlock(&tally_topology);
	if (!err)
		err = tally_answer(req->buf, req->buf_len, &req->buf_used,
				   deps, count * sizeof(*deps));
	kvfree(deps);
	tally_disk_put(&m->td);
	return err;
}

static int run_targets(struct tally_request *rq)
{
	struct tally_records *req = rq->arg;
	struct tally_target_info *list;
	unsigned int i, n = 0;
	int err;

	if (req->pad)
		return tally_refuse(rq, -EINVAL, "padding is not zero");
	while (tally_target_types[n])
		n++;
	list = kcalloc(n, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct tally_target_type *type = tally_target_types[i];

		strscpy(list[i].name, type->name, sizeof(list[i].name));
		strscpy(list[i].about, type->about, sizeof(list[i].about));
		memcpy(list[i].version, type->version,
		       sizeof(list[i].version));
	}
	err = tally_answer_records(rq, req->record_size, req->buf,
				   req->buf_len, &req->buf_used, list, n,
				   sizeof(*list));
	kfree(list);
	return err;
}

#define ROW(word, type, known, fn)					\
	TALLY_COMMAND(word, type, fn, .flags = (known), .noio = true)

const struct tally_command tally_map_rows[] = {
	ROW(MAP_CREATE, tally_map_create, TALLY_MAP_READONLY, run_create),
	ROW(MAP_LOAD, tally_map_load, TALLY_MAP_READONLY, run_load),
	ROW(MAP_RESUME, tally_map_op, 0, run_resume),
	ROW(MAP_SUSPEND, tally_map_op, 0, run_suspend),
	ROW(MAP_CLEAR, tally_map_op, 0, run_clear),
	ROW(MAP_REMOVE, tally_map_op, 0, run_remove),
	ROW(MAP_TABLE, tally_map_table,
	    TALLY_TABLE_INACTIVE | TALLY_TABLE_STATUS, run_table),
	ROW(MAP_DEPS, tally_map_deps, TALLY_TABLE_INACTIVE, run_deps),
	ROW(MAP_TARGETS, tally_records, 0, run_targets),
};
const unsigned int tally_map_row_count = ARRAY_SIZE(tally_map_rows);

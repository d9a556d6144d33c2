// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/blktally/control: finds the command, copies its structure in, checks
 * what all commands have in common, holds the command's module while it runs,
 * copies the structure or the reason out.  The protocol is told in
 * uapi/blktally.h.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/internal.h"

static DEFINE_MUTEX(commands_lock);	/* the list, and feature bits */
static LIST_HEAD(commands_list);

int tally_commands_register(struct tally_commands *commands)
{
	mutex_lock(&commands_lock);
	list_add_tail(&commands->node, &commands_list);
	mutex_unlock(&commands_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(tally_commands_register);

void tally_commands_unregister(struct tally_commands *commands)
{
	mutex_lock(&commands_lock);
	list_del(&commands->node);
	mutex_unlock(&commands_lock);
}
EXPORT_SYMBOL_GPL(tally_commands_unregister);

u64 tally_commands_features(void)
{
	struct tally_commands *c;
	u64 features = 0;

	mutex_lock(&commands_lock);
	list_for_each_entry(c, &commands_list, node)
		features |= c->feature;
	mutex_unlock(&commands_lock);
	return features;
}

void tally_commands_show(struct seq_file *m)
{
	struct tally_commands *c;
	unsigned int i;

	mutex_lock(&commands_lock);
	list_for_each_entry(c, &commands_list, node)
		for (i = 0; i < c->count; i++)
			seq_printf(m, "0x%02x %-12s %4zu %s\n", c->list[i].nr,
				   c->list[i].name, c->list[i].size,
				   c->owner ? c->owner->name : "-");
	mutex_unlock(&commands_lock);
}

/* The command with this number, its module held; NULL if there is none. */
static const struct tally_command *command_get(unsigned int nr,
					       struct module **owner)
{
	const struct tally_command *found = NULL;
	struct tally_commands *c;
	unsigned int i;

	mutex_lock(&commands_lock);
	list_for_each_entry(c, &commands_list, node)
		for (i = 0; i < c->count && !found; i++)
			if (c->list[i].nr == nr && try_module_get(c->owner)) {
				found = &c->list[i];
				*owner = c->owner;
			}
	mutex_unlock(&commands_lock);
	return found;
}

int tally_refuse(struct tally_request *rq, int error, const char *fmt, ...)
{
	va_list args;

	if (rq) {
		va_start(args, fmt);
		vscnprintf(rq->reason, sizeof(rq->reason), fmt, args);
		va_end(args);
	}
	return error;
}
EXPORT_SYMBOL_GPL(tally_refuse);

int tally_check_string(struct tally_request *rq, const char *what,
		       const char *text, size_t size)
{
	if (strnlen(text, size) < size)
		return 0;
	return tally_refuse(rq, -EINVAL, "%s: no NUL within %zu bytes", what,
			    size);
}
EXPORT_SYMBOL_GPL(tally_check_string);

int tally_answer(u64 buf, u32 buf_len, u32 *used, const void *from, size_t len)
{
	if (len > U32_MAX)
		return -EOVERFLOW;
	*used = len;
	if (len > buf_len)
		return 0;
	return copy_to_user(u64_to_user_ptr(buf), from, len) ? -EFAULT : 0;
}
EXPORT_SYMBOL_GPL(tally_answer);

int tally_answer_records(struct tally_request *rq, u32 record_size, u64 buf,
			 u32 buf_len, u32 *used, const void *from,
			 size_t count, size_t size)
{
	const size_t fit = min_t(size_t, record_size, size);
	u64 total = (u64)count * record_size;
	size_t i;

	if (record_size < 8 || record_size % 8 || record_size > PAGE_SIZE)
		return tally_refuse(rq, -EINVAL,
			"record_size %u: must be a multiple of 8 from 8 to %lu",
			record_size, PAGE_SIZE);
	if (total > U32_MAX)
		return -EOVERFLOW;
	*used = total;
	if (total > buf_len)
		return 0;
	for (i = 0; i < count; i++) {
		void __user *to = u64_to_user_ptr(buf + i * record_size);

		if (copy_to_user(to, from + i * size, fit) ||
		    clear_user(to + fit, record_size - fit))
			return -EFAULT;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(tally_answer_records);

/* Tell the caller why; a reason that cannot be told changes nothing. */
static void give_reason(const struct tally_head *head,
			const struct tally_request *rq)
{
	size_t len = strlen(rq->reason);
	static const char nul;

	if (!head->reason || !head->reason_len)
		return;
	len = min_t(size_t, len, head->reason_len - 1);
	if (!copy_to_user(u64_to_user_ptr(head->reason), rq->reason, len) &&
	    copy_to_user(u64_to_user_ptr(head->reason + len), &nul, 1))
		return;
}

static int check_head(const struct tally_command *cmd, struct tally_head *head,
		      u32 size, void __user *arg, struct tally_request *rq)
{
	const u32 version = TALLY_ABI_VERSION;

	if (head->abi != version) {
		if (put_user(version, &((struct tally_head __user *)arg)->abi))
			return -EFAULT;
		return tally_refuse(rq, -EPROTONOSUPPORT,
			"ABI version %u: these modules speak %u", head->abi,
			version);
	}
	if (size < cmd->min)
		return tally_refuse(rq, -EINVAL,
			"size %u of %s: at least %zu", size, cmd->name,
			cmd->min);
	if (head->flags & ~cmd->flags)
		return tally_refuse(rq, -EINVAL,
			"flags 0x%x of %s: only 0x%x are known", head->flags,
			cmd->name, cmd->flags);
	return 0;
}

/* What the caller knows of the structure; zeroes for what only he knows. */
static int copy_out(const struct tally_command *cmd, void __user *to, u32 size,
		    const void *from)
{
	if (copy_to_user(to, from, min_t(size_t, size, cmd->size)) ||
	    (size > cmd->size && clear_user(to + cmd->size, size - cmd->size)))
		return -EFAULT;
	return 0;
}

static int carry_out(const struct tally_command *cmd, void __user *arg)
{
	struct tally_request *rq;
	struct tally_head head;
	u32 size;
	int err;

	if (copy_from_user(&head, arg, sizeof(head)))
		return -EFAULT;
	size = head.size;
	if (size < sizeof(head) || size > PAGE_SIZE)
		return -EINVAL;

	rq = kzalloc(sizeof(*rq), GFP_KERNEL_ACCOUNT);
	if (!rq)
		return -ENOMEM;
	rq->arg = kzalloc(cmd->size, GFP_KERNEL_ACCOUNT);
	if (!rq->arg) {
		err = -ENOMEM;
		goto free_rq;
	}

	/* From here on only what was read once counts: the caller may race. */
	err = check_head(cmd, &head, size, arg, rq);
	if (!err)
		err = copy_struct_from_user(rq->arg, cmd->size, arg, size);
	if (err == -E2BIG)
		tally_refuse(rq, err,
			"%s: bytes beyond %zu are not zero, and these modules do not know them",
			cmd->name, cmd->size);
	if (err)
		goto reason;
	memcpy(rq->arg, &head, sizeof(head));
	rq->head = &head;

	/* What cannot be written to is found out before anything happens. */
	err = copy_out(cmd, arg, size, rq->arg);
	if (err)
		goto free_arg;
	err = cmd->run(rq);
	if (err)
		goto reason;
	memcpy(rq->arg, &head, sizeof(head));
	err = copy_out(cmd, arg, size, rq->arg);
	goto free_arg;

reason:
	give_reason(&head, rq);
free_arg:
	kfree(rq->arg);
free_rq:
	kfree(rq);
	return err;
}

static long control_ioctl(struct file *file, unsigned int nr, unsigned long arg)
{
	const struct tally_command *cmd;
	struct module *owner;
	unsigned int saved = 0;
	int err;

	if (_IOC_TYPE(nr) != TALLY_IOC_TYPE ||
	    _IOC_DIR(nr) != (_IOC_READ | _IOC_WRITE))
		return -ENOTTY;
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	cmd = command_get(_IOC_NR(nr), &owner);
	if (!cmd)
		return -ENOTTY;
	/*
	 * A resume must not wait for memory that is freed by writing to the map
	 * it would resume; nor may it wait for a lock whose holder does.
	 */
	if (cmd->noio)
		saved = memalloc_noio_save();
	err = carry_out(cmd, (void __user *)arg);
	if (cmd->noio)
		memalloc_noio_restore(saved);
	module_put(owner);
	return err;
}

static const struct file_operations control_fops = {
	.owner		= THIS_MODULE,
	.open		= nonseekable_open,
	.unlocked_ioctl	= control_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

/*
 * Not named as its directory: when the kernel finds no memory for the nodename
 * it makes a node of the name, which nobody removes, and which would stand in
 * the directory's place until the next boot.
 */
static struct miscdevice control = {
	.minor		= MISC_DYNAMIC_MINOR,
	.name		= "blktally-control",
	.nodename	= "blktally/control",
	.mode		= 0600,
	.fops		= &control_fops,
};

int tally_control_init(void)
{
	return misc_register(&control);
}

void tally_control_exit(void)
{
	misc_deregister(&control);
}

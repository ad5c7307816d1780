// SPDX-License-Identifier: BSD-3-Clause
#include "cli/where_json.h"

#include "cli/hang_json.h"
#include "cli/report_json.h"
#include "cli/screen.h"
#include "cli/who.h"

#include <stdlib.h>

static void put_process(struct ar_json *j, const struct ar_profile *p, uint32_t i)
{
    const struct ar_process *process = &p->processes[i];

    ar_json_open(j, NULL, '{');
    ar_json_text(j, "name", ar_who_name(p, i));
    if (process->world_rank == AR_RANK_NONE)
        ar_json_null(j, "rank");
    else
        ar_json_integer(j, "rank", process->world_rank);
    ar_json_text(j, "host", ar_strtab_text(&p->strings, process->host));
    ar_json_integer(j, "pid", process->pid);
    if (process->parent_pid)
        ar_json_integer(j, "parent_pid", process->parent_pid);
    else
        ar_json_null(j, "parent_pid");
    ar_json_text(j, "state", ar_process_state_name(process->state));
    ar_json_integer(j, "start_real_ns", process->start_real_ns);
    ar_json_integer(j, "wall_ns", process->wall_ns);
    ar_json_close(j, '}');
}

static void put_thread(struct ar_json *j, const struct ar_profile *p, uint32_t i)
{
    const struct ar_location *location = &p->locations[i];

    ar_json_open(j, NULL, '{');
    ar_json_integer(j, "process", location->process);
    ar_json_integer(j, "thread", location->thread);
    ar_json_text(j, "name", ar_strtab_text(&p->strings, location->name));
    ar_json_integer(j, "still_ns", ar_stacks_still_ns(p, i));
    ar_json_integer(j, "latest_real_ns", location->latest_real_ns);
    ar_json_close(j, '}');
}

static void put_frame(struct ar_json *j, const struct ar_profile *p, struct ar_frame frame)
{
    const struct ar_function *f = &p->functions[frame.function];

    ar_json_open(j, NULL, '{');
    ar_json_text(j, "kind", ar_function_kind_name(f->kind));
    ar_json_text(j, "name", ar_strtab_text(&p->strings, f->name));
    ar_json_text(j, "file", ar_strtab_text(&p->strings, f->file));
    if (frame.line)
        ar_json_integer(j, "line", frame.line);
    else
        ar_json_null(j, "line");
    ar_json_integer(j, "first_line", f->first_line);
    ar_json_close(j, '}');
}

static bool put_group(struct ar_json *j, const struct ar_profile *p, const struct ar_stacks *s,
                      const struct ar_stack_group *group)
{
    size_t n = ar_stacks_frames(s, group->node, NULL);
    struct ar_frame *frames = malloc((n + 1) * sizeof *frames);

    if (!frames)
        return false;
    ar_stacks_frames(s, group->node, frames);
    ar_json_open(j, NULL, '{');
    ar_json_text(j, "state", ar_process_state_name(group->state));
    ar_json_bool(j, "main", group->is_main);
    ar_json_integer(j, "still_ns", group->still_ns);
    ar_json_open(j, "threads", '[');
    for (uint32_t i = 0; i < group->n_threads; i++)
        put_thread(j, p, s->threads[group->first + i]);
    ar_json_close(j, ']');
    ar_json_open(j, "frames", '[');
    for (size_t i = 0; i < n; i++)
        put_frame(j, p, frames[i]);
    ar_json_close(j, ']');
    ar_json_close(j, '}');
    free(frames);
    return true;
}

int ar_where_json(const struct ar_profile *p, const struct ar_stacks *s)
{
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    bool good = true;

    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "schema", "allranks.where");
    ar_json_integer(&j, "version", 1);
    ar_json_facts(&j, "facts", p);
    ar_json_open(&j, "processes", '[');
    for (uint32_t i = 0; i < p->n_processes; i++)
        put_process(&j, p, i);
    ar_json_close(&j, ']');
    ar_json_open(&j, "groups", '[');
    for (size_t i = 0; i < s->n_groups && good; i++)
        good = put_group(&j, p, s, &s->groups[i]);
    ar_json_close(&j, ']');
    ar_json_hang(&j, p);
    ar_json_close(&j, '}');
    ar_bytes_u8(&bytes, '\n');

    int status = bytes.bad || !good ? ar_complain("out of memory") : ar_write_output("-", &bytes);

    ar_bytes_free(&bytes);
    return status;
}

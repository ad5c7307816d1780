// SPDX-License-Identifier: BSD-3-Clause
#include "base/file_system.h"

#include "scratch.h"
#include "tap.h"

#include <linux/magic.h>

static void test_remote(void)
{
    static const struct {
        uint32_t type;
        const char *name;
    } cases[] = {
        {NFS_SUPER_MAGIC, "NFS"}, {SMB_SUPER_MAGIC, "SMB"}, {CODA_SUPER_MAGIC, "Coda"},
        {NCP_SUPER_MAGIC, "NCP"}, {AFS_SUPER_MAGIC, "AFS"}, {V9FS_MAGIC, "9P"},
        {0xff534d42, "CIFS"},     {0x0bd00bd0, "Lustre"},   {0x47504653, "GPFS"},
        {0x19830326, "BeeGFS"},   {0x00c36400, "Ceph"},     {0x65735546, "FUSE"},
        {0xaad7aaea, "PanFS"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = ar_remote_file_system(cases[i].type);

        tap_ok(name && strcmp(name, cases[i].name) == 0, "%#x is %s", cases[i].type, cases[i].name);
    }
}

static void test_local(void)
{
    static const uint32_t types[] = {
        TMPFS_MAGIC,
        RAMFS_MAGIC,
        EXT4_SUPER_MAGIC,
        XFS_SUPER_MAGIC,
        BTRFS_SUPER_MAGIC,
        SQUASHFS_MAGIC,
        OVERLAYFS_SUPER_MAGIC,
        0x2fc12fc1,
        F2FS_SUPER_MAGIC,
        HUGETLBFS_MAGIC,
        0,
        UINT32_MAX,
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        tap_ok(!ar_remote_file_system(types[i]), "%#x is none of them", types[i]);
}

static void test_of_path(void)
{
    tap_ok(!ar_remote_file_system_of("/proc"), "the kernel itself serves /proc");
    tap_ok(!ar_remote_file_system_of(scratch_path("missing")), "what is not there is nowhere");
}

int main(void)
{
    scratch_make();
    test_remote();
    test_local();
    test_of_path();
    scratch_remove();
    return tap_done();
}

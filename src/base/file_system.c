// SPDX-License-Identifier: BSD-3-Clause
#include "base/file_system.h"

#include <stddef.h>
#include <sys/vfs.h>

/* Most of these numbers are in no header: their file systems are not part of Linux. */
const char *ar_remote_file_system(uint32_t type)
{
    static const struct {
        uint32_t type;
        const char *name;
    } known[] = {
        {0x00006969, "NFS"},         {0x0bd00bd0, "Lustre"},     {0x47504653, "GPFS"},
        {0x19830326, "BeeGFS"},      {0x00c36400, "Ceph"},       {0xaad7aaea, "PanFS"},
        {0x20030528, "OrangeFS"},    {0x013111a8, "IBRIX"},      {0xbeefdead, "StorNext"},
        {0x0000517b, "SMB"},         {0xff534d42, "CIFS"},       {0xfe534d42, "SMB"},
        {0x5346414f, "AFS"},         {0x6b414653, "AFS"},        {0x73757245, "Coda"},
        {0x0000564c, "NCP"},         {0x01021997, "9P"},         {0x65735546, "FUSE"},
        {0x01161970, "GFS2"},        {0x7461636f, "OCFS2"},      {0x61636673, "ACFS"},
        {0xbacbacbc, "VMware HGFS"}, {0x786f4256, "VirtualBox"}, {0x7c7c6673, "Parallels"},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == type)
            return known[i].name;
    return NULL;
}

const char *ar_remote_file_system_of(const char *path)
{
    struct statfs fs;

    /* The field is signed on some machines, and as wide as a long on others. */
    return statfs(path, &fs) == 0 ? ar_remote_file_system((uint32_t)fs.f_type) : NULL;
}

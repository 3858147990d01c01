/** The kinds of node that labs may contain and that this server does not run. */
import type { KeptKind } from './node-kind.js';

const plain = { alwaysRuns: false, imageProperties: [], keepsContentElsewhere: false } as const;

export const cloud = {
  ...plain,
  type: 'cloud',
  alwaysRuns: true,
  builtinTemplate: {
    rank: 1,
    template: {
      template_id: '39e257dc-8412-3174-b6b3-0ee3ed6a43e9',
      name: 'Cloud',
      default_name_format: 'Cloud{0}',
      category: 'guest',
      symbol: ':/symbols/cloud.svg',
    },
  },
} as const satisfies KeptKind;

export const nat = {
  ...plain,
  type: 'nat',
  alwaysRuns: true,
  builtinTemplate: {
    rank: 2,
    template: {
      template_id: 'df8f4ea9-33b7-3e96-86a2-c39bc9bb649c',
      name: 'NAT',
      default_name_format: 'NAT{0}',
      category: 'guest',
      symbol: ':/symbols/nat.svg',
    },
  },
} as const satisfies KeptKind;

export const vpcs = {
  ...plain,
  type: 'vpcs',
  builtinTemplate: {
    rank: 3,
    template: {
      template_id: '19021f99-e36f-394d-b4a1-8aaa902ab9cc',
      name: 'VPCS',
      default_name_format: 'PC{0}',
      category: 'guest',
      symbol: ':/symbols/vpcs_guest.svg',
      properties: { base_script_file: 'vpcs_base_config.txt' },
    },
  },
} as const satisfies KeptKind;

export const qemu = {
  ...plain,
  type: 'qemu',
  imageProperties: [
    'bios_image',
    'cdrom_image',
    'hda_disk_image',
    'hdb_disk_image',
    'hdc_disk_image',
    'hdd_disk_image',
    'initrd',
    'kernel_image',
  ],
} as const satisfies KeptKind;

export const dynamips = {
  ...plain,
  type: 'dynamips',
  imageProperties: ['image'],
} as const satisfies KeptKind;
export const iou = { ...plain, type: 'iou', imageProperties: ['path'] } as const satisfies KeptKind;

export const virtualbox = {
  ...plain,
  type: 'virtualbox',
  keepsContentElsewhere: true,
} as const satisfies KeptKind;
export const vmware = { ...plain, type: 'vmware', keepsContentElsewhere: true } as const satisfies KeptKind;

/** Its property `image` names an image of the Docker engine, not an image file of this server. */
export const docker = { ...plain, type: 'docker' } as const satisfies KeptKind;
export const traceng = { ...plain, type: 'traceng' } as const satisfies KeptKind;

/** The kinds of node of programs that this server does not drive. Labs and templates with them are kept. */
import { z } from 'zod';
import { longText, onClose, word } from './fields.js';
import type { KeptKind } from './node-kind.js';
import { consoleSettings, portNameSettings, templateSettings, type TemplateSettings } from './template.js';

const plain = { alwaysRuns: false, imageProperties: [], keepsContentElsewhere: true } as const;

/** The settings that the templates of both have. */
const common = {
  ...consoleSettings(['telnet', 'none']),
  ...portNameSettings,
  ...z
    .object({
      headless: z.boolean(),
      linked_clone: z.boolean(),
      on_close: onClose,
      usage: longText,
      use_any_adapter: z.boolean(),
    })
    .partial().shape,
};

function defaultsWith(special: object, symbol: string): Omit<TemplateSettings, 'name'> {
  return {
    adapters: 1,
    category: 'guest',
    console_auto_start: false,
    console_type: 'none',
    custom_adapters: [],
    default_name_format: '{name}-{0}',
    first_port_name: '',
    headless: false,
    linked_clone: false,
    on_close: 'power_off',
    port_name_format: 'Ethernet{0}',
    port_segment_size: 0,
    symbol,
    usage: '',
    use_any_adapter: false,
    ...special,
  };
}

const virtualboxAdapters = z.enum([
  'PCnet-PCI II (Am79C970A)',
  'PCNet-FAST III (Am79C973)',
  'Intel PRO/1000 MT Desktop (82540EM)',
  'Intel PRO/1000 T Server (82543GC)',
  'Intel PRO/1000 MT Server (82545EM)',
  'Paravirtualized Network (virtio-net)',
]);

export const virtualbox = {
  ...plain,
  type: 'virtualbox',
  unavailable: 'VirtualBox is not available on this host',
  template: {
    required: ['vmname'],
    settings: templateSettings({
      ...common,
      adapter_type: virtualboxAdapters.optional(),
      adapters: z.int().min(0).max(36).optional(),
      ram: z.int().min(0).max(65_535).optional(),
      vmname: word.min(1).optional(),
    }),
    defaults: defaultsWith(
      { adapter_type: 'Intel PRO/1000 MT Desktop (82540EM)', ram: 256 },
      ':/symbols/vbox_guest.svg',
    ),
  },
} as const satisfies KeptKind;

const vmwareAdapters = z.enum([
  'default',
  'e1000',
  'e1000e',
  'flexible',
  'vlance',
  'vmxnet',
  'vmxnet2',
  'vmxnet3',
]);

export const vmware = {
  ...plain,
  type: 'vmware',
  unavailable: 'VMware is not available on this host',
  template: {
    required: ['vmx_path'],
    settings: templateSettings({
      ...common,
      adapter_type: vmwareAdapters.optional(),
      adapters: z.int().min(0).max(10).optional(),
      vmx_path: z.string().min(1).max(4096).optional(),
    }),
    defaults: defaultsWith({ adapter_type: 'e1000' }, ':/symbols/vmware_guest.svg'),
  },
} as const satisfies KeptKind;

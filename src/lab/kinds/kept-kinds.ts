/** The kinds of node of programs that this server does not drive. Labs and templates with them are kept. */
import { z } from 'zod';
import { machinePorts } from './adapter-ports.js';
import { longText, onClose, word } from './fields.js';
import type { KeptKind, PortOwner } from './node-kind.js';
import { ETHERNET_CAPTURE } from './port-types.js';
import { consoleSettings, portNameSettings, templateSettings, type TemplateSettings } from './template.js';

const NAMING = { format: 'Ethernet{0}', segmentSize: 0 };
/** The most adapters of a machine. */
const MOST = { virtualbox: 36, vmware: 10 };

const plain = {
  alwaysRuns: false,
  imageProperties: [],
  keepsContentElsewhere: true,
  medium: 'ethernet',
  capture: ETHERNET_CAPTURE,
  portNaming: NAMING,
} as const;

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
    port_name_format: NAMING.format,
    port_segment_size: NAMING.segmentSize,
    symbol,
    usage: '',
    use_any_adapter: false,
    ...special,
  };
}

function portsUpTo(most: number): KeptKind['ports'] {
  return (owner: PortOwner) =>
    machinePorts(owner, { most, firstAddress: undefined, otherwise: NAMING.format });
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
      adapters: z.int().min(0).max(MOST.virtualbox).optional(),
      ram: z.int().min(0).max(65_535).optional(),
      vmname: word.min(1).optional(),
    }),
    defaults: defaultsWith(
      { adapter_type: 'Intel PRO/1000 MT Desktop (82540EM)', ram: 256 },
      ':/symbols/vbox_guest.svg',
    ),
  },
  ports: portsUpTo(MOST.virtualbox),
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
      adapters: z.int().min(0).max(MOST.vmware).optional(),
      vmx_path: z.string().min(1).max(4096).optional(),
    }),
    defaults: defaultsWith({ adapter_type: 'e1000' }, ':/symbols/vmware_guest.svg'),
  },
  ports: portsUpTo(MOST.vmware),
} as const satisfies KeptKind;

/** Templates, kind by kind: what a client may say of them, and the defaults (contract B6, appendix 2). */
import { z } from 'zod';
import { text } from './gns3-file/topology-schema.js';
import { defaultPorts, LARGEST_PORT_COUNT } from './kinds/ports-mapping.js';

const name = text(1, 255);
const category = z.union([z.int(), z.enum(['router', 'switch', 'guest', 'firewall'])]);

const mappedPort = { name: text(1, 255), port_number: z.int().min(0) };
const switchPort = z.strictObject({
  ...mappedPort,
  type: z.enum(['access', 'dot1q', 'qinq']),
  vlan: z.int().min(1).max(4094).optional(),
  ethertype: z.enum(['', '0x8100', '0x88A8', '0x9100', '0x9200']).optional(),
});

/** The settings that every template has beside its ids. */
export interface TemplateSettings {
  readonly name: string;
  readonly category: number | string;
  readonly default_name_format: string;
  readonly symbol: string;
  readonly [special: string]: unknown;
}

interface TemplateKind {
  /** What a client may set; everything optional. */
  readonly settings: z.ZodObject;
  readonly defaults: Omit<TemplateSettings, 'name'>;
}

const common = {
  name: name.optional(),
  category: category.optional(),
  default_name_format: name.optional(),
  symbol: name.optional(),
};

export const TEMPLATE_KINDS: Readonly<Record<string, TemplateKind>> = {
  ethernet_switch: {
    settings: z.strictObject({
      ...common,
      ports_mapping: z.array(switchPort).max(LARGEST_PORT_COUNT).optional(),
      console_type: z.enum(['telnet', 'none']).optional(),
    }),
    defaults: {
      category: 'switch',
      console_type: 'none',
      default_name_format: 'Switch{0}',
      ports_mapping: defaultPorts({ ethertype: '', type: 'access', vlan: 1 }),
      symbol: ':/symbols/ethernet_switch.svg',
    },
  },
  ethernet_hub: {
    settings: z.strictObject({
      ...common,
      ports_mapping: z.array(z.strictObject(mappedPort)).max(LARGEST_PORT_COUNT).optional(),
    }),
    defaults: {
      category: 'switch',
      default_name_format: 'Hub{0}',
      ports_mapping: defaultPorts({}),
      symbol: ':/symbols/hub.svg',
    },
  },
  frame_relay_switch: {
    settings: z.strictObject(common),
    defaults: {
      category: 'switch',
      default_name_format: 'FRSW{0}',
      symbol: ':/symbols/frame_relay_switch.svg',
    },
  },
  atm_switch: {
    settings: z.strictObject(common),
    defaults: { category: 'switch', default_name_format: 'ATMSW{0}', symbol: ':/symbols/atm_switch.svg' },
  },
};

export interface BuiltinTemplate extends TemplateSettings {
  readonly template_id: string;
  readonly template_type: string;
}

/** Ids are the reference's: stock clients and saved projects know them. */
export const BUILTIN_TEMPLATES: readonly BuiltinTemplate[] = [
  {
    template_type: 'cloud',
    template_id: '39e257dc-8412-3174-b6b3-0ee3ed6a43e9',
    name: 'Cloud',
    default_name_format: 'Cloud{0}',
    category: 'guest',
    symbol: ':/symbols/cloud.svg',
  },
  {
    template_type: 'nat',
    template_id: 'df8f4ea9-33b7-3e96-86a2-c39bc9bb649c',
    name: 'NAT',
    default_name_format: 'NAT{0}',
    category: 'guest',
    symbol: ':/symbols/nat.svg',
  },
  {
    template_type: 'vpcs',
    template_id: '19021f99-e36f-394d-b4a1-8aaa902ab9cc',
    name: 'VPCS',
    default_name_format: 'PC{0}',
    category: 'guest',
    symbol: ':/symbols/vpcs_guest.svg',
    properties: { base_script_file: 'vpcs_base_config.txt' },
  },
  {
    template_type: 'ethernet_switch',
    template_id: '1966b864-93e7-32d5-965f-001384eec461',
    name: 'Ethernet switch',
    default_name_format: 'Switch{0}',
    category: 'switch',
    symbol: ':/symbols/ethernet_switch.svg',
    console_type: 'none',
  },
  {
    template_type: 'ethernet_hub',
    template_id: 'b4503ea9-d6b6-3695-9fe4-1db3b39290b0',
    name: 'Ethernet hub',
    default_name_format: 'Hub{0}',
    category: 'switch',
    symbol: ':/symbols/hub.svg',
  },
  {
    template_type: 'frame_relay_switch',
    template_id: 'dd0f6f3a-ba58-3249-81cb-a1dd88407a47',
    name: 'Frame Relay switch',
    default_name_format: 'FRSW{0}',
    category: 'switch',
    symbol: ':/symbols/frame_relay_switch.svg',
  },
  {
    template_type: 'atm_switch',
    template_id: 'aaa764e2-b383-300f-8a0e-3493bbfdb7d2',
    name: 'ATM switch',
    default_name_format: 'ATMSW{0}',
    category: 'switch',
    symbol: ':/symbols/atm_switch.svg',
  },
];

/** TraceNG, a program of Windows that sends probes. Labs and templates with it are kept. */
import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import { withValue, word } from './fields.js';
import type { NodeKind, Properties } from './node-kind.js';
import { ETHERNET, ETHERNET_CAPTURE, portOfType } from './port-types.js';
import { templateSettings } from './template.js';

const look = { category: 'guest', default_name_format: 'TraceNG{0}', symbol: ':/symbols/traceng.svg' };

function checked(properties: Properties): Properties {
  const address = properties['ip_address'];
  if (typeof address === 'string' && address !== '' && !isIPv4(address))
    throw refusals.propertyConflict(`Invalid IP address: ${address}`);
  return properties;
}

export const traceng: NodeKind & { readonly type: 'traceng'; readonly unavailable: string } = {
  type: 'traceng',
  unavailable: 'TraceNG is not available on this host: it is a program for Windows',
  title: 'a TraceNG node',
  alwaysRuns: false,
  imageProperties: [],
  keepsContentElsewhere: false,
  properties: z.strictObject({ default_destination: word.optional(), ip_address: word.optional() }),
  shownProperties: { default_destination: z.string(), ip_address: z.string() },
  consoleTypes: ['none'],
  template: {
    settings: templateSettings({
      console_type: z.enum(['none']).optional(),
      default_destination: word.min(1).optional(),
      ip_address: word.min(1).optional(),
    }),
    defaults: { ...look, console_type: 'none' },
  },
  medium: 'ethernet',
  capture: ETHERNET_CAPTURE,
  create: (given) => checked({ default_destination: '', ip_address: '', ...withValue(given) }),
  update: (current, given) => checked({ ...current, ...withValue(given) }),
  ports: () => [portOfType(ETHERNET, { adapter: 0, port: 0, name: 'Ethernet0', shortName: 'e0' })],
};

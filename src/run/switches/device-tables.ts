/** What switches have learnt, as clients read it: the tables of the devices in the words of the interface. */
import { z } from 'zod';

const macEntry = z.object({ age_seconds: z.number(), mac: z.string(), port: z.int(), vlan: z.int() });
const learnt = z.object({ mac_table: z.array(macEntry) });

export const macTable = z.array(
  z.strictObject({ age_seconds: z.number(), mac_address: z.string(), port_number: z.int(), vlan: z.int() }),
);

/** By VLAN and address. */
export function macTableOf(inspected: unknown): z.infer<typeof macTable> {
  return learnt.parse(inspected).mac_table.map(({ age_seconds, mac, port, vlan }) => {
    return { age_seconds, mac_address: mac, port_number: port, vlan };
  });
}

const lmi = z.object({
  dialect: z.string().nullable(),
  enquiries: z.int(),
  last_enquiry_seconds_ago: z.number().nullable(),
  receive_sequence: z.int(),
  send_sequence: z.int(),
});
const connected = z.object({ active: z.boolean(), dlci: z.int(), to_dlci: z.int(), to_port: z.int() });
const told = z.object({
  ports: z.array(z.object({ dlcis: z.array(connected), lmi, port: z.int() })),
});

export const dlciTable = z.array(
  z.strictObject({
    dlcis: z.array(
      z.strictObject({
        /** Whether the port that it leads to is attached. */
        active: z.boolean(),
        dlci: z.int(),
        to_dlci: z.int(),
        to_port_number: z.int(),
      }),
    ),
    lmi: z.strictObject(lmi.shape),
    port_number: z.int(),
  }),
);

/** By port number. */
export function dlciTableOf(inspected: unknown): z.infer<typeof dlciTable> {
  return told.parse(inspected).ports.map(({ dlcis, lmi: state, port }) => ({
    dlcis: dlcis.map(({ active, dlci, to_dlci, to_port }) => {
      return { active, dlci, to_dlci, to_port_number: to_port };
    }),
    lmi: state,
    port_number: port,
  }));
}

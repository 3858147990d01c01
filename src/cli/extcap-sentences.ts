/**
 * The output of an extcap program for Wireshark (extcap(4)): sentences of one line each. Its parser has no escapes, so no
 * name may contain a brace or a line break.
 */

/** An interface of Wireshark; without `linkId` it is every link of the project. */
export interface ExtcapInterface {
  readonly projectId: string;
  readonly linkId: string | undefined;
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const VALUE = new RegExp(`^wirefarm-(${UUID})-(${UUID}|all)$`);

export function parseInterface(value: string): ExtcapInterface | undefined {
  const [, projectId, linkId] = VALUE.exec(value) ?? [];
  if (projectId === undefined) return undefined;
  return { projectId, linkId: linkId === 'all' ? undefined : linkId };
}

export function extcapSentence(version: string, help: string): string {
  return `extcap {version=${version}}{help=${help}}`;
}

export function interfaceSentence({ projectId, linkId }: ExtcapInterface, display: string): string {
  return `interface {value=wirefarm-${projectId}-${linkId ?? 'all'}}{display=${plain(display)}}`;
}

function plain(name: string): string {
  return name
    .replaceAll('{', '(')
    .replaceAll('}', ')')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

/** Each link has its own link type in the stream; Wireshark's own programs use the number 147 for that. */
export const DLT_SENTENCES = ['dlt {number=147}{name=wirefarm}{display=As each link says}'];

/** The options of every interface; an option that does not apply to a link has no effect. */
export const CONFIG_SENTENCES = [
  {
    call: '--bpf',
    display: 'Only packets that match',
    tooltip: 'An expression of tcpdump, such as icmp or port 53; with a capture filter, both must match',
    more: '{type=string}',
  },
  {
    call: '--snaplen',
    display: 'Most octets of a packet',
    tooltip: 'Longer packets are cut to this',
    more: '{type=unsigned}{range=1,262144}{default=262144}',
  },
  {
    call: '--sample',
    display: 'One packet in',
    tooltip: '1 takes every packet, 100 one of each hundred',
    more: '{type=unsigned}{range=1,1000000}{default=1}',
  },
  {
    call: '--cells',
    display: 'ATM links: single cells',
    tooltip: 'Each cell by itself, instead of the frames that they make; not together with an expression',
    more: '{type=boolflag}{default=false}',
  },
].map(
  ({ call, display, tooltip, more }, number) =>
    `arg {number=${number}}{call=${call}}{display=${display}}{tooltip=${tooltip}}${more}`,
);

/**
 * What Wireshark reads of an extcap program, as extcap(4) has it: sentences of one line each. Its parser takes
 * a brace and an end of line wherever they stand, so no name may hold one.
 */

/** Where packets are taken: `linkId` undefined is every link of the project. */
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

/** The stream says what each link is; 147 is the number that Wireshark's own programs give for that. */
export const DLT_SENTENCES = ['dlt {number=147}{name=wirefarm}{display=As each link says}'];

/** The same for every interface: an option that a link has no use for does nothing there. */
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

/** The texts of the packets page. */

const count = (number: number): string => number.toLocaleString('en');

export const PACKET_TEXTS = {
  title: 'Packets',
  lab: 'Lab',
  links: 'Links',
  allLinks: 'all links',
  chosen: (names: readonly string[]): string =>
    names.length > 2 ? `${names.slice(0, 2).join(', ')} and ${names.length - 2} more` : names.join(', '),
  bpf: 'Capture filter',
  bpfHint: 'for the server, like tcp port 179',
  kept: 'Kept of each',
  keptOctets: (octets: number): string => (octets === 0 ? 'all octets' : `${octets} octets`),
  apply: 'Start anew',
  show: 'Show',
  showHint: 'ip.addr == 10.0.0.1 && tcp.flags.syn',
  wrong: (at: number, message: string): string => `At character ${at + 1}: ${message}.`,
  shown: (shown: number, held: number, progress: number): string => {
    const all = shown === held ? count(held) : `${count(shown)} of ${count(held)}`;
    return progress < 1 ? `${all}, ${Math.floor(progress * 100)} % looked at` : all;
  },
  pause: 'Pause',
  follow: (fresh: number): string => (fresh === 0 ? 'Follow' : `Follow (${count(fresh)} new)`),
  columns: {
    number: 'No',
    time: 'Time',
    link: 'Link',
    way: 'Way',
    source: 'Source',
    destination: 'Destination',
    protocol: 'Protocol',
    length: 'Octets',
    info: 'Summary',
  },
  ways: { in: '→', out: '←', '': '' },
  wayNames: { in: 'in', out: 'out', '': '' },
  list: 'Packets',
  details: 'Details',
  fields: 'Fields',
  octets: 'Octets',
  octet: (at: number): string => `Octet ${at}`,
  more: (left: number): string => `${count(left)} more octets`,
  choose: 'Choose a packet to see its fields and octets.',
  gone: 'This packet has left the memory of the page.',
  cut: (kept: number, original: number): string => `${kept} of ${original} octets are kept`,
  none: 'No packets yet.',
  nothingFits: 'No packet fits what is to be shown.',
  streams: {
    closed: 'not connected',
    connecting: 'connecting',
    live: 'live',
    lost: 'connection lost, tried again every second',
  },
  held: (octets: number, seconds: number): string =>
    `held ${(octets / 1_048_576).toFixed(1)} MiB of 64, the last ${seconds < 10 ? seconds.toFixed(1) : count(Math.round(seconds))} s`,
  lost: (packets: number): string => `lost ${count(packets)}`,
  wireshark: {
    title: 'Open in Wireshark',
    open: 'Open in Wireshark…',
    line: 'the line for a terminal',
    once: (seconds: number): string =>
      `Paste this line into a terminal within ${seconds} seconds. It works once, without a password.`,
    over: 'The line is too old now.',
    again: 'New line',
    download: 'Download instead',
    hint: 'The packets are those from now on, of the same links and with the same capture filter. A download goes on until it is cancelled, or the lab closes.',
  },
  save: 'Save as pcapng',
  saveShown: 'Save what is shown',
} as const;

/** Frames of every protocol that is read, made octet by octet, with what tshark calls the fields to compare. */
import { LINK_TYPE } from '../../src/engine/wire/pcap.js';

export interface SampleFrame {
  readonly name: string;
  readonly linkType: number;
  readonly octets: Buffer;
  /** The names of fields that both readers must have, with equal values. */
  readonly fields: readonly string[];
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
const pair = (value: number): string => value.toString(16).padStart(4, '0');
const text = (words: string): string => Buffer.from(words).toString('hex');

const A = '020000000001';
const B = '020000000002';

/** Each takes what it holds as hexadecimal text, and returns the same. */
const ethernet = (type: number, content: string, to = B): string => to + A + pair(type) + content;
const lengthed = (content: string, to = B): string =>
  ethernet(content.replaceAll(/\s/g, '').length / 2, content, to);
const lengthOf = (content: string): number => hex(content).length;

function ipv4(protocol: number, content: string, fragment = '4000', options = ''): string {
  const words = 5 + lengthOf(options) / 4;
  const length = words * 4 + lengthOf(content);
  const head = `${(0x40 + words).toString(16)} b8 ${pair(length)} 1234 ${fragment} 40`;
  return `${head} ${protocol.toString(16).padStart(2, '0')} abcd 0a000001 0a000002 ${options} ${content}`;
}

function ipv6(next: number, content: string): string {
  const head = `6e012345 ${pair(lengthOf(content))} ${next.toString(16).padStart(2, '0')} ff`;
  return `${head} fe800000000000000000000000000001 20010db8000000000000000000000002 ${content}`;
}

const udp = (source: number, destination: number, content: string): string =>
  `${pair(source)} ${pair(destination)} ${pair(8 + lengthOf(content))} 0000 ${content}`;
const tcp = (source: number, destination: number, flags: string, content = '', options = ''): string =>
  `${pair(source)} ${pair(destination)} 00000064 000000c8 ${(5 + lengthOf(options) / 4).toString(16)}0${flags} 2000 0000 0000 ${options} ${content}`;

const on4 = (protocol: number, content: string): string => ethernet(0x0800, ipv4(protocol, content));
const on6 = (next: number, content: string): string => ethernet(0x86dd, ipv6(next, content));

const ETHERNET = ['eth.dst', 'eth.src'];
const IPV4 = [
  ...ETHERNET,
  'eth.type',
  'ip.version',
  'ip.hdr_len',
  'ip.dsfield.dscp',
  'ip.dsfield.ecn',
  'ip.len',
];
const IPV4_MORE = [
  'ip.id',
  'ip.flags.df',
  'ip.flags.mf',
  'ip.ttl',
  'ip.proto',
  'ip.checksum',
  'ip.src',
  'ip.dst',
];
const IPV6 = [
  'ipv6.version',
  'ipv6.tclass',
  'ipv6.flow',
  'ipv6.plen',
  'ipv6.nxt',
  'ipv6.hlim',
  'ipv6.src',
  'ipv6.dst',
];
const UDP = ['udp.srcport', 'udp.dstport', 'udp.length'];
const TCP = ['tcp.srcport', 'tcp.dstport', 'tcp.seq_raw', 'tcp.ack_raw', 'tcp.hdr_len', 'tcp.flags'];
const TREE = [
  'root.prio',
  'root.ext',
  'root.hw',
  'root.cost',
  'bridge.prio',
  'bridge.ext',
  'bridge.hw',
  'port',
];
const TREE_TIMES = ['msg_age', 'max_age', 'hello', 'forward', 'flags.tc'];
const STP = ['protocol', 'version', 'type', ...TREE, ...TREE_TIMES].map((field) => `stp.${field}`);
const DNS = [
  'id',
  'flags.response',
  'flags.opcode',
  'count.queries',
  'count.answers',
  'count.auth_rr',
  'count.add_rr',
];
const OSPF = ['version', 'msg', 'packet_length', 'srcrouter', 'area_id', 'checksum', 'auth.type'];
const LACP = ['sys_priority', 'sysid', 'key', 'port_priority', 'port', 'state'];
const prefixed = (prefix: string, fields: readonly string[]): string[] =>
  fields.map((one) => `${prefix}.${one}`);

const bridge = (address: string): string => `8001 ${address}`;
const rapid = (version: string, type: string): string =>
  `0000 ${version} ${type} 3d ${bridge(A)} 00000004 ${bridge(B)} 8002 0100 1400 0200 0f00`;
const question = (name: string, type: number): string =>
  name
    .split('.')
    .map((label) => label.length.toString(16).padStart(2, '0') + text(label))
    .join('') + `00 ${pair(type)} 0001`;
const element = (kind: number, content: string): string => pair((kind << 9) | lengthOf(content)) + content;
const cdp = (kind: number, content: string): string => pair(kind) + pair(4 + lengthOf(content)) + content;
const ospf = (message: string, content: string): string =>
  `02 ${message} ${pair(24 + lengthOf(content))} 01010101 00000000 abcd 0000 0000000000000000 ${content}`;
const bgp = (type: string, content: string): string =>
  `${'ff'.repeat(16)} ${pair(19 + lengthOf(content))} ${type} ${content}`;
const snap = (oui: string, type: string, content: string): string => `aaaa03 ${oui} ${type} ${content}`;
const state = '0001 02 01 01010101 01010101 80000001 abcd';
const DHCP_HEAD = `01 01 06 00 3903f326 0005 8000 00000000 0a000064 0a000001 00000000 ${A}${'00'.repeat(10)}`;
const dhcp = `${DHCP_HEAD} ${'00'.repeat(192)} 63825363 350102 0104ffffff00 03040a000001 33040000a8c0 36040a000001 0c03${text('pc1')} 06080808080801010101 ff`;
const answers = `c00c 0001 0001 0000003c 0004 0a090807 c00c 001c 0001 0000003c 0010 20010db8000000000000000000000001
  c00c 0005 0001 00000020 0004 0161c010 c00c 000f 0001 00000020 0006 000a 016dc010 c00c 0010 0001 00000020 0003 02${text('hi')}`;

const SERIAL_IP = ipv4(1, '0800 0000 0001 0002 6162');

type Row = readonly [name: string, linkType: number, content: string, fields: readonly string[]];

const ROWS: readonly Row[] = [
  [
    'ICMP',
    1,
    on4(1, '0800 1111 1234 0007 616263'),
    [...IPV4, ...IPV4_MORE, 'icmp.type', 'icmp.code', 'icmp.ident', 'icmp.seq'],
  ],
  [
    'ICMP error',
    1,
    on4(1, `0304 0000 0000 05dc ${ipv4(17, udp(1000, 2000, '61'))}`),
    ['icmp.type', 'icmp.code', 'icmp.mtu'],
  ],
  [
    'ICMP redirect',
    1,
    on4(1, `0501 0000 0a0000fe ${ipv4(17, udp(1000, 2000, '61'))}`),
    ['icmp.type', 'icmp.redir_gw'],
  ],
  [
    'IPv4 with options',
    1,
    ethernet(0x0800, ipv4(1, '0000 1111 1234 0007', '4000', '94040000')),
    ['ip.hdr_len', 'icmp.type'],
  ],
  ['IPv4 fragment', 1, ethernet(0x0800, ipv4(17, '61626364', '0003')), ['ip.flags.mf', 'ip.proto']],
  [
    'ARP',
    1,
    ethernet(0x0806, `0001 0800 06 04 0001 ${A} 0a000001 000000000000 0a000002`, 'ffffffffffff'),
    [
      ...ETHERNET,
      ...prefixed('arp', [
        'hw.type',
        'proto.type',
        'hw.size',
        'proto.size',
        'opcode',
        'src.hw_mac',
        'src.proto_ipv4',
        'dst.hw_mac',
        'dst.proto_ipv4',
      ]),
    ],
  ],
  [
    '802.1Q',
    1,
    ethernet(0x8100, `6005 0800 ${ipv4(17, udp(40000, 40001, '6162'))}`),
    ['vlan.priority', 'vlan.dei', 'vlan.id', 'vlan.etype', ...UDP],
  ],
  [
    '802.1ad',
    1,
    ethernet(0x88a8, `7064 8100 2005 0800 ${ipv4(17, udp(40000, 40001, '6162'))}`),
    ['ieee8021ad.priority', 'ieee8021ad.dei', 'ieee8021ad.id', 'vlan.id', ...UDP],
  ],
  [
    'IPv6 TCP',
    1,
    on6(6, tcp(1025, 8081, '02', '', '020405b4 01030307')),
    [...IPV6, ...TCP, 'tcp.options.mss_val', 'tcp.options.wscale.shift'],
  ],
  [
    'TCP data',
    1,
    on4(6, tcp(8081, 1025, '18', '616263', '0101 080a 00000001 00000002')),
    [...TCP, 'tcp.window_size_value', 'tcp.options.timestamp.tsval', 'tcp.options.timestamp.tsecr'],
  ],
  [
    'IPv6 extensions',
    1,
    on6(0, `3c00 010400000000 1100 010400000000 ${udp(40000, 40001, '61')}`),
    [...IPV6, 'ipv6.hopopts.nxt', 'ipv6.hopopts.len', 'ipv6.dstopts.nxt', ...UDP],
  ],
  [
    'IPv6 fragment',
    1,
    on6(44, `1100 0011 00000007 61626364`),
    ['ipv6.fraghdr.nxt', 'ipv6.fraghdr.offset', 'ipv6.fraghdr.more', 'ipv6.fraghdr.ident'],
  ],
  [
    'Neighbour solicitation',
    1,
    on6(58, `8700 abcd 00000000 20010db8000000000000000000000002 0101 ${A}`),
    [
      'icmpv6.type',
      'icmpv6.code',
      'icmpv6.nd.ns.target_address',
      'icmpv6.opt.type',
      'icmpv6.opt.length',
      'icmpv6.opt.linkaddr',
    ],
  ],
  [
    'Neighbour advertisement',
    1,
    on6(58, `8800 abcd e0000000 20010db8000000000000000000000002 0201 ${A}`),
    ['icmpv6.nd.na.flag.r', 'icmpv6.nd.na.flag.s', 'icmpv6.nd.na.flag.o', 'icmpv6.nd.na.target_address'],
  ],
  [
    'Router advertisement',
    1,
    on6(
      58,
      `8600 abcd 40c0 0708 00000001 00000002 0501 0000 000005dc 0304 40c0 00278d00 00093a80 00000000 20010db8000000000000000000000000`,
    ),
    [
      ...prefixed('icmpv6.nd.ra', [
        'cur_hop_limit',
        'flag.m',
        'flag.o',
        'router_lifetime',
        'reachable_time',
        'retrans_timer',
      ]),
      ...prefixed('icmpv6.opt', ['mtu', 'prefix', 'prefix.length', 'prefix.valid_lifetime']),
    ],
  ],
  [
    'ICMPv6 echo',
    1,
    on6(58, '8000 abcd 0001 0002 6162'),
    ['icmpv6.type', 'icmpv6.echo.identifier', 'icmpv6.echo.sequence_number'],
  ],
  ['IGMP 2', 1, on4(2, '1600 0000 ef010203'), ['igmp.type', 'igmp.checksum', 'igmp.maddr']],
  [
    'IGMP 3',
    1,
    on4(2, '2200 0000 0000 0002 04000000 ef010203 01000001 ef010204 0a000009'),
    ['igmp.type', 'igmp.num_grp_recs', 'igmp.record_type', 'igmp.maddr', 'igmp.saddr'],
  ],
  [
    'STP',
    1,
    lengthed(`424203 ${rapid('00', '00')}`, '0180c2000000'),
    ['eth.len', 'llc.dsap', 'llc.ssap', 'llc.control', ...STP],
  ],
  [
    'RSTP',
    1,
    lengthed(`424203 ${rapid('02', '02')} 00`, '0180c2000000'),
    [
      ...STP,
      'stp.flags.port_role',
      'stp.flags.proposal',
      'stp.flags.agreement',
      'stp.flags.forwarding',
      'stp.flags.learning',
      'stp.version_1_length',
    ],
  ],
  [
    'LLDP',
    1,
    ethernet(
      0x88cc,
      [
        element(1, `04${A}`),
        element(2, `05${text('e0')}`),
        element(3, '0078'),
        element(4, text('to R2')),
        element(5, text('SW1')),
        element(6, text('a switch')),
        element(7, '00140010'),
        element(8, '05010a000001020000000100'),
        element(0, ''),
      ].join(''),
      '0180c200000e',
    ),
    prefixed('lldp', [
      'tlv.type',
      'tlv.len',
      'chassis.subtype',
      'chassis.id.mac',
      'port.subtype',
      'port.id',
      'time_to_live',
      'port.desc',
      'tlv.system.name',
      'tlv.system.desc',
      'mgn.addr.ip4',
    ]),
  ],
  [
    'CDP',
    1,
    lengthed(
      snap(
        '00000c',
        '2000',
        `02b4 abcd ${cdp(1, text('R1'))}${cdp(3, text('Gi0/0'))}${cdp(4, '00000001')}${cdp(5, text('IOS 15'))}${cdp(6, text('cisco'))}${cdp(10, '0001')}${cdp(11, '01')}${cdp(2, '00000001 01 01 cc 0004 0a000001'.replaceAll(' ', ''))}`,
      ),
      '01000ccccccc',
    ),
    [
      'llc.oui',
      'llc.cisco_pid',
      ...prefixed('cdp', [
        'version',
        'ttl',
        'deviceid',
        'portid',
        'capabilities',
        'software_version',
        'platform',
        'native_vlan',
        'duplex',
        'number_of_addresses',
        'nrgyz.ip_address',
        'tlv.type',
        'tlv.len',
      ]),
    ],
  ],
  [
    'LACP',
    1,
    ethernet(
      0x8809,
      `01 01 0114 8000 ${A} 0001 8000 0001 3d 000000 0214 8000 ${B} 0002 8000 0003 3c 000000 0310 0010 ${'00'.repeat(12)} 0000 ${'00'.repeat(50)}`,
      '0180c2000002',
    ),
    [
      'slow.subtype',
      'lacp.version',
      ...prefixed('lacp.actor', LACP),
      ...prefixed('lacp.partner', LACP),
      'lacp.collector.max_delay',
    ],
  ],
  [
    'SNAP with IPv4',
    1,
    lengthed(snap('000000', '0800', SERIAL_IP)),
    ['llc.oui', 'llc.type', 'ip.src', 'icmp.type'],
  ],
  ['PPP with IPv4', 50, `ff03 0021 ${SERIAL_IP}`, ['ppp.protocol', 'ip.src', 'icmp.type']],
  [
    'LCP',
    50,
    'ff03 c021 01 07 000e 0104 05dc 0506 01020304',
    [
      'ppp.address',
      'ppp.control',
      'ppp.protocol',
      'ppp.code',
      'ppp.identifier',
      'ppp.length',
      'lcp.opt.mru',
      'lcp.opt.magic_number',
    ],
  ],
  ['IPCP', 50, 'ff03 8021 01 01 000a 0306 0a000001', ['ppp.protocol', 'ppp.code', 'ipcp.opt.ip_address']],
  [
    'HDLC with IPv4',
    104,
    `0f00 0800 ${SERIAL_IP}`,
    ['chdlc.address', 'chdlc.protocol', 'ip.src', 'icmp.type'],
  ],
  [
    'SLARP',
    104,
    '8f00 8035 00000002 00000005 00000004 ffff 00000000',
    ['chdlc.address', 'chdlc.protocol', 'slarp.ptype', 'slarp.mysequence', 'slarp.yoursequence'],
  ],
  [
    'CDP on HDLC',
    104,
    `8f00 2000 02b4 abcd ${cdp(1, text('R1'))}${cdp(3, text('S0/0'))}`,
    ['chdlc.protocol', 'cdp.deviceid', 'cdp.portid'],
  ],
  [
    'Frame Relay',
    107,
    `18 69 03 cc ${SERIAL_IP}`,
    ['fr.dlci', 'fr.cr', 'fr.fecn', 'fr.becn', 'fr.de', 'fr.control', 'fr.nlpid', 'ip.src', 'icmp.type'],
  ],
  ['Frame Relay of Cisco', 107, `18 61 0800 ${SERIAL_IP}`, ['fr.dlci', 'ip.src', 'icmp.type']],
  [
    'LMI of ANSI',
    107,
    '0001 03 08 00 7d 95 01 01 00 03 02 05 04 07 03 06 c0 82',
    [
      'fr.dlci',
      'q933.message_type',
      'q933.report_type',
      'q933.link_verification.txseq',
      'q933.link_verification.rxseq',
    ],
  ],
  [
    'LMI of Q.933',
    107,
    '0001 03 08 00 75 51 01 00 53 02 05 04',
    ['fr.dlci', 'q933.message_type', 'q933.report_type', 'q933.link_verification.txseq'],
  ],
  [
    'LMI of Cisco',
    107,
    'fcf1 03 09 00 7d 01 01 00 03 02 05 04 07 06 0064 02 000000',
    ['fr.dlci', 'lmi.msg_type', 'lmi.ele_rcd_type', 'lmi.recv_seq', 'lmi.send_seq'],
  ],
  [
    'AAL5',
    123,
    `82 05 01f4 ${snap('000000', '0800', SERIAL_IP)}`,
    ['atm.vpi', 'atm.vci', 'llc.oui', 'ip.src', 'icmp.type'],
  ],
  [
    'ATM cell with OAM',
    197,
    `00000000 01000000 03 00 0048 0000 0034 005 01f4a 18 01 ${'6a'.repeat(44)} 0123`,
    ['erf.types.type', 'erf.rlen', 'erf.wlen', 'atm.vpi', 'atm.vci', 'atm.aal_oamcell.type'],
  ],
  [
    'ATM cell',
    197,
    `00000000 01000000 03 01 0048 0000 0034 005 01f40 ${'6a'.repeat(48)}`,
    ['erf.types.type', 'atm.vpi', 'atm.vci'],
  ],
  [
    'DHCP',
    1,
    on4(17, udp(68, 67, dhcp)),
    [
      ...UDP,
      ...prefixed('dhcp', [
        'type',
        'id',
        'secs',
        'ip.client',
        'ip.your',
        'ip.server',
        'ip.relay',
        'hw.mac_addr',
      ]),
      ...prefixed('dhcp.option', [
        'dhcp',
        'subnet_mask',
        'router',
        'ip_address_lease_time',
        'dhcp_server_id',
        'hostname',
        'domain_name_server',
      ]),
    ],
  ],
  [
    'DNS question',
    1,
    on4(17, udp(5000, 53, `abcd 0100 0001 0000 0000 0000 ${question('www.example.org', 1)}`)),
    [...prefixed('dns', DNS), 'dns.qry.name', 'dns.qry.type', 'dns.qry.class'],
  ],
  [
    'DNS answer',
    1,
    on4(17, udp(53, 5000, `abcd 8180 0001 0005 0000 0000 ${question('www.example.org', 1)} ${answers}`)),
    [
      ...prefixed('dns', DNS),
      'dns.flags.rcode',
      ...prefixed('dns', [
        'resp.name',
        'resp.type',
        'resp.ttl',
        'a',
        'aaaa',
        'cname',
        'mx.mail_exchange',
        'txt',
      ]),
    ],
  ],
  [
    'OSPF hello',
    1,
    on4(89, ospf('01', 'ffffff00 000a 02 01 00000028 0a000001 0a000002 02020202')),
    [
      ...prefixed('ospf', OSPF),
      ...prefixed('ospf.hello', [
        'network_mask',
        'hello_interval',
        'router_priority',
        'router_dead_interval',
        'designated_router',
        'backup_designated_router',
        'active_neighbor',
      ]),
    ],
  ],
  [
    'OSPF description',
    1,
    on4(89, ospf('02', `05dc 42 02 00001234 ${state} 0024`)),
    [
      'ospf.msg',
      'ospf.db.interface_mtu',
      'ospf.db.dd_sequence',
      ...prefixed('ospf', ['lsa', 'lsa.id', 'lsa.age', 'lsa.seqnum', 'advrouter']),
    ],
  ],
  ['OSPF acknowledgement', 1, on4(89, ospf('05', `${state} 0024`)), ['ospf.msg', 'ospf.lsa', 'ospf.lsa.id']],
  [
    'OSPF update',
    1,
    on4(89, ospf('04', `00000001 ${state} 0024 00000001 0a000000 ffffff00 03 00 000a`)),
    ['ospf.msg', 'ospf.ls.number_of_lsas', 'ospf.lsa.id'],
  ],
  [
    'BGP open',
    1,
    on4(6, tcp(1026, 179, '18', bgp('01', '04 fde9 00b4 01010101 00'))),
    [
      ...TCP,
      'bgp.type',
      'bgp.length',
      ...prefixed('bgp.open', ['version', 'myas', 'holdtime', 'identifier', 'opt.len']),
    ],
  ],
  [
    'BGP update',
    1,
    on4(
      6,
      tcp(
        179,
        1026,
        '18',
        bgp('02', '0000 000e 40 01 01 00 40 03 04 0a000001 40 02 00 18 c0a801 20 0a000009') + bgp('04', ''),
      ),
    ),
    [
      'bgp.type',
      'bgp.length',
      'bgp.update.withdrawn_routes.length',
      'bgp.update.path_attributes.length',
      'bgp.nlri_prefix',
      ...prefixed('bgp.update.path_attribute', ['type_code', 'origin', 'next_hop']),
    ],
  ],
  [
    'BGP notification',
    1,
    on4(6, tcp(179, 1027, '18', bgp('03', '06 02'))),
    ['bgp.type', 'bgp.notify.major_error'],
  ],
];

export const SAMPLE_FRAMES: readonly SampleFrame[] = ROWS.map(([name, linkType, content, fields]) => ({
  name,
  linkType,
  octets: hex(content),
  fields,
}));

export const SAMPLE_LINK_TYPES: readonly number[] = Object.values(LINK_TYPE);

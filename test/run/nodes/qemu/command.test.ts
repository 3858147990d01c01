/** The command line of QEMU machines: from properties to arguments, and options that attack the host. */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import type { AdapterWire } from '../../../../src/run/links/udp-ports.js';
import type { PreparedDisks } from '../../../../src/run/nodes/qemu/prepared-disks.js';
import { qemuCommand, type QemuCommandInput } from '../../../../src/run/nodes/qemu/qemu-command.js';
import { shellWords } from '../../../../src/run/nodes/qemu/shell-words.js';
import { patience } from '../../../support/patience.js';

const NODE = {
  id: '00112233-4455-6677-8899-aabbccddeeff',
  name: 'R1',
  projectId: '11112233-4455-6677-8899-aabbccddeeff',
  projectFolder: '/projects/p',
};
const NO_IMAGES = { cdrom: undefined, kernel: undefined, initrd: undefined, bios: undefined };
const NO_DISKS: PreparedDisks = {
  ...{ folder: '/f', drives: [], images: NO_IMAGES, uefi: undefined, hasConfigDisk: false, warnings: [] },
  release: () => undefined,
};

function wires(count: number): AdapterWire[] {
  return Array.from({ length: count }, (_, i) => ({
    programPort: 20_000 + 2 * i,
    enginePort: 20_001 + 2 * i,
  }));
}

function inputOf(given: Partial<QemuCommandInput>): QemuCommandInput {
  return {
    ...{
      node: NODE,
      properties: {},
      customAdapters: [],
      disks: NO_DISKS,
      images: NO_IMAGES,
      adapters: wires(1),
    },
    sockets: { qmp: '/run/q', console: '/run/c', tpm: undefined },
    ...{ consoleType: 'telnet', consolePort: 5000, isKvm: false, version: [7, 2], allowsUnsafe: false },
    ...given,
  };
}

function argsOf(given: Partial<QemuCommandInput> = {}): string[] {
  return qemuCommand(inputOf(given)).args;
}

/** The arguments of all options of a name. */
function valuesOf(args: readonly string[], option: string): string[] {
  return args.flatMap((arg, index) => (args[index - 1] === option ? [arg] : []));
}

function withOptions(options: string, given: Partial<QemuCommandInput> = {}): string[] {
  return argsOf({ properties: { options }, ...given });
}

const SANDBOX = 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny';

void t.test('a machine with nothing set has one adapter and a serial console', (t) => {
  const { command, args, niceness } = qemuCommand(inputOf({}));
  t.equal(command, 'qemu-system-x86_64');
  t.equal(niceness, 5);
  t.same(args, [
    ...['-name', 'guest=R1', '-m', '256M', '-smp', 'cpus=1,sockets=1', '-boot', 'order=c'],
    ...['-uuid', NODE.id, '-serial', 'unix:/run/c,server=on,wait=off', '-monitor', 'none'],
    ...['-qmp', 'unix:/run/q,server=on,wait=off', '-S', '-net', 'none', '-netdev'],
    'dgram,id=gns3-0,local.type=inet,local.host=127.0.0.1,local.port=20000,' +
      'remote.type=inet,remote.host=127.0.0.1,remote.port=20001',
    ...['-device', 'e1000,mac=0c:11:22:33:00:00,netdev=gns3-0', '-display', 'none', '-sandbox', SANDBOX],
  ]);
  t.end();
});

void t.test('each disk interface has its controller', (t) => {
  const drive = (kind: string): string[] => {
    const made = {
      ...{ index: 1, path: '/d/a,b', base: undefined },
      ...({ format: 'qcow2', interface: kind } as const),
    };
    const args = argsOf({ disks: { ...NO_DISKS, drives: [made] }, adapters: [] });
    return args.slice(args.indexOf('order=c') + 1, args.indexOf('-uuid'));
  };
  const plain = (kind: string): string => `file=/d/a,,b,format=qcow2,if=${kind},index=1,media=disk,id=drive1`;
  for (const kind of ['ide', 'virtio', 'floppy', 'sd', 'mtd', 'pflash'])
    t.same(drive(kind), ['-drive', plain(kind)], kind);
  for (const kind of ['none', 'x,file=/etc/shadow']) t.same(drive(kind), ['-drive', plain('none')], kind);
  t.same(drive('sata'), [
    ...['-device', 'ahci,id=ahci1', '-drive', plain('none')],
    ...['-device', 'ide-hd,drive=drive1,bus=ahci1.0,id=drive1'],
  ]);
  t.same(drive('nvme'), ['-drive', plain('none'), '-device', 'nvme,drive=drive1,serial=1']);
  t.same(drive('scsi'), [
    ...['-device', 'virtio-scsi-pci,id=scsi1', '-drive', plain('none')],
    ...['-device', 'scsi-hd,drive=drive1'],
  ]);
  t.end();
});

void t.test('files are named with their format, and commas in names are doubled', (t) => {
  const images = { cdrom: '/i/a,b.iso', kernel: '/i/k', initrd: '/i/r', bios: '/i/b' };
  const args = argsOf({ images, properties: { kernel_command_line: 'console=ttyS0,9600' } });
  t.same(valuesOf(args, '-drive'), ['file=/i/a,,b.iso,format=raw,index=2,media=cdrom,readonly=on']);
  const named = ['-kernel', '-initrd', '-append', '-bios'].map((name) => valuesOf(args, name)[0]);
  t.same(named, ['/i/k', '/i/r', 'console=ttyS0,9600', '/i/b']);
  t.throws(() => argsOf({ images: { ...NO_IMAGES, initrd: '/i/x,/etc/shadow' } }), {
    code: 'property_conflict',
  });
  const uefi = { code: '/usr/c.fd', variables: '/f/v,.fd' };
  t.same(valuesOf(argsOf({ disks: { ...NO_DISKS, uefi } }), '-drive'), [
    'if=pflash,format=raw,readonly=on,file=/usr/c.fd',
    'if=pflash,format=raw,file=/f/v,,.fd',
  ]);
  t.end();
});

void t.test('consoles are Unix sockets, and none has a monitor', (t) => {
  const of = (consoleType: string, options = ''): string[] =>
    argsOf({ consoleType, properties: { options } });
  t.same(valuesOf(of('vnc'), '-vnc'), ['unix:/run/c']);
  t.same(valuesOf(of('vnc'), '-device').at(-1), 'usb-tablet');
  t.same(valuesOf(of('spice'), '-spice'), ['unix=on,addr=/run/c,disable-ticketing=on']);
  t.same(valuesOf(of('spice'), '-vga'), ['qxl']);
  t.same(valuesOf(of('spice', '-vga std'), '-vga'), ['std']);
  const ports = valuesOf(of('spice+agent'), '-device').filter((device) =>
    device.startsWith('virtserialport'),
  );
  t.equal(ports.length, 2);
  for (const type of ['telnet', 'vnc', 'spice', 'spice+agent', 'none'])
    t.same(valuesOf(of(type), '-monitor'), ['none'], type);
  t.same(valuesOf(of('telnet', '-nographic'), '-display'), []);
  t.end();
});

void t.test('adapters have the types and addresses that were chosen, whatever the version', (t) => {
  const customAdapters = [
    { adapter_number: 1, adapter_type: 'virtio-net-pci', mac_address: '00:00:00:00:00:01' },
    { adapter_number: 2, adapter_type: 'virtio' },
  ];
  const properties = { adapter_type: 'rtl8139', mac_address: '0c:00:00:00:00:ff' };
  const args = argsOf({ properties, customAdapters, adapters: wires(3), version: [7, 1] });
  t.same(valuesOf(args, '-device'), [
    'rtl8139,mac=0c:00:00:00:00:ff,netdev=gns3-0',
    'virtio-net-pci,mac=00:00:00:00:00:01,speed=10000,duplex=full,netdev=gns3-1',
    'virtio-net-pci,mac=0c:00:00:00:01:01,speed=10000,duplex=full,netdev=gns3-2',
  ]);
  t.equal(valuesOf(args, '-netdev')[0], 'socket,id=gns3-0,udp=127.0.0.1:20001,localaddr=127.0.0.1:20000');
  const legacy = argsOf({ properties: { ...properties, legacy_networking: true } });
  t.same(valuesOf(legacy, '-net'), ['nic,model=rtl8139,macaddr=0c:00:00:00:00:ff,netdev=gns3-0']);
  for (const type of ['loader,file=/etc/shadow', 'loader', 'vfio-pci', 'e1000,romfile=/x', '{"driver":1}'])
    t.throws(() => argsOf({ properties: { adapter_type: type } }), { code: 'property_conflict' }, type);
  t.end();
});

void t.test('values that nobody has checked do not leave their places', (t) => {
  const properties = {
    ...{
      ram: '1,maxmem=2',
      cpus: -3,
      boot_priority: 'c,splash=/etc/shadow',
      mac_address: 'x,romfile=/etc/x',
    },
    ...{ process_priority: 'x', qemu_path: '/projects/p/project-files/qemu-system-arm', options: 7 },
  };
  const { command, args, niceness } = qemuCommand(inputOf({ properties }));
  t.equal(command, 'qemu-system-arm', 'a program of the system, and none of a project');
  t.equal(niceness, 5);
  t.same(
    ['-m', '-smp', '-boot'].flatMap((name) => valuesOf(args, name)),
    [...['256M', 'cpus=1,sockets=1', 'order=c']],
  );
  t.match(valuesOf(args, '-device')[0], /^e1000,mac=0c:11:22:33:00:00,/);
  for (const [path, program] of [
    ['C:\\Program Files\\qemu\\qemu-system-x86_64w.exe', 'qemu-system-x86_64'],
    ['/usr/bin/qemu-kvm', 'qemu-kvm'],
    ['/bin/sh', 'qemu-system-x86_64'],
  ])
    t.equal(qemuCommand(inputOf({ properties: { qemu_path: path } })).command, program);
  t.end();
});

void t.test('priorities are niceness, and KVM is switched on unless the options choose', (t) => {
  const nice = (priority: string): number =>
    qemuCommand(inputOf({ properties: { process_priority: priority } })).niceness;
  t.same(['very low', 'low', 'normal', 'high', 'very high', 'realtime'].map(nice), [19, 5, 0, -5, -15, -20]);
  t.same(valuesOf(withOptions('', { isKvm: true }), '-machine'), ['smm=off']);
  for (const options of ['-machine accel=tcg', '-M q35,accel=tcg', '-accel tcg'])
    t.notOk(withOptions(options, { isKvm: true }).includes('-enable-kvm'), options);
  t.end();
});

void t.test('words are split as a shell splits them', (t) => {
  for (const [text, words] of [
    ['', []],
    ['  a  b ', ['a', 'b']],
    [`a'b c'"d e"\\ f`, ['ab cd e f']],
    [`'' ""`, ['', '']],
    [`"a\\"b" "a\\b" '\\'`, ['a"b', 'a\\b', '\\']],
    ['$(x) `y` *', ['$(x)', '`y`', '*']],
  ] as const)
    t.same(shellWords(text), words, text);
  for (const text of [`'a`, '"a', 'a\\']) t.equal(shellWords(text), undefined, text);
  t.end();
});

void t.test('options of the list are passed on, as they are', (t) => {
  for (const options of [
    '-cpu host,+vmx -machine type=q35 -M pc -nographic --no-reboot -no-shutdown',
    '-smbios type=1,manufacturer=cisco,serial=9/1 -fw_cfg name=opt/x,string=/etc/shadow',
    '-device virtio-rng-pci,rng=r -object rng-random,id=r,filename=/dev/urandom -usbdevice tablet',
    '-device vhost-vsock-pci,guest-cid=3 -rtc base=utc -k en-us -boot menu=on -smp 4 -vga std -watchdog i6300esb',
    '-global PIIX4_PM.disable_s3=1 -icount shift=auto -overcommit mem-lock=off -uuid 1-2 -serial null -parallel none',
  ]) {
    const words = shellWords(options) ?? [];
    const args = withOptions(options);
    const from = args.findIndex((_, at) => words.every((word, index) => args[at + index] === word));
    t.ok(from > 0, options);
  }
  t.end();
});

void t.test('options that reach the host are refused, and passed on where that is allowed', (t) => {
  for (const [options, shown = options] of [
    ['-drive file=/etc/shadow', '-drive'],
    ['/etc/shadow'],
    ['-nographic /etc/shadow', '/etc/shadow'],
    ['-incoming exec:id', '-incoming'],
    ['--net tap,script=/bin/x', '--net'],
    ['-D /tmp/x', '-D'],
    ['-cpu -drive file=/etc/shadow', 'file=/etc/shadow'],
    ['-fw_cfg name=x,file=/etc/shadow'],
    ['-smbios file=/etc/shadow'],
    ['-smbios type=11,path=/etc/shadow'],
    ['-device loader,file=/etc/shadow'],
    ['-device e1000,driver=loader,file=x'],
    ['-device driver=loader'],
    [`-device '{"driver":"loader","file":"/x"}'`, '-device {"driver":"loader","file":"/x"}'],
    ['-device e1000,romfile=x'],
    ['-device vfio-pci,host=1'],
    ['-device usb-host'],
    ['-device usb-mtp,rootdir=x'],
    ['-device ipmi-bmc-sim'],
    ['-global e1000.romfile=x'],
    ['-global driver=e1000,property=romfile,value=x'],
    ['-machine dumpdtb=x'],
    ['-M pc,kernel=x'],
    ['-boot splash=x'],
    ['-icount shift=1,rr=record,rrfile=x'],
    ['-object rng-random,id=r,filename=/etc/shadow'],
    ['-object rng-random,id=r,qom-type=memory-backend-file'],
    ['-object memory-backend-file,mem-path=/x'],
    ['-serial file:/tmp/x'],
    ['-monitor stdio'],
    ['-usbdevice disk:/etc/shadow'],
    ['-k ../x'],
    ['-display vnc=:0'],
    ['-accel kvm,device=/dev/x'],
    ['-sandbox off', '-sandbox'],
  ] as readonly [string, string?][]) {
    const message = `Forbidden additional option: ${shown}`;
    t.throws(() => withOptions(options), { status: 409, code: 'option_forbidden', message }, options);
    t.doesNotThrow(() => withOptions(options, { allowsUnsafe: true }), options);
  }
  t.same(valuesOf(withOptions('-sandbox off', { allowsUnsafe: true }), '-sandbox'), ['off']);
  t.throws(() => withOptions(`-cpu 'host`), { status: 409, code: 'options_unreadable' });
  t.end();
});

void t.test('placeholders are filled in after the words were split, once, and stay in their word', (t) => {
  const named = (name: string, options: string): string[] =>
    withOptions(options, { node: { ...NODE, name } });
  const all =
    '-fw_cfg name=opt/x,string=%vm-name%.%vm-id%.%project-id%.%project-path%.%console-port%.%guest-cid%';
  t.same(valuesOf(withOptions(all), '-fw_cfg'), [
    `name=opt/x,string=R1.${NODE.id}.${NODE.projectId}./projects/p.5000.20000`,
  ]);
  for (const name of [`a' -drive 'b`, 'a -drive b', '%vm-id%', '50%', `it's "q"`, 'a\\']) {
    const args = named(name, '-smbios type=1,serial=%vm-name%');
    t.same(valuesOf(args, '-smbios'), [`type=1,serial=${name}`], name);
    t.same(valuesOf(args, '-name'), [`guest=${name}`]);
  }
  const hostile = 'x,path=/etc/shadow';
  t.same(valuesOf(named(hostile, '-smbios type=11,value=%vm-name%'), '-smbios'), [
    'type=11,value=x,,path=/etc/shadow',
  ]);
  t.same(valuesOf(named(hostile, ''), '-name'), ['guest=x,,path=/etc/shadow']);
  t.throws(() => named('-drive', '%vm-name% x'), { code: 'option_forbidden' });
  t.end();
});

void t.test('adapters of the type vhost-user share the memory of the machine', (t) => {
  const [wire] = wires(1);
  if (wire === undefined) throw new Error('there is a wire');
  const given = {
    properties: { ram: 512, adapter_type: 'e1000' },
    customAdapters: [{ adapter_number: 1, adapter_type: 'vhost-user' }],
    adapters: [wire, { socket: '/run/a,b' }],
  };
  const args = argsOf(given);
  t.same(valuesOf(args, '-object'), ['memory-backend-memfd,id=gns3-memory,size=512M,share=on,seal=on']);
  t.same(valuesOf(args, '-machine'), ['memory-backend=gns3-memory']);
  t.same(valuesOf(args, '-chardev'), ['socket,id=gns3-adapter-1,path=/run/a,,b,reconnect=1']);
  t.match(valuesOf(args, '-netdev'), [/^dgram,/, 'vhost-user,id=gns3-1,chardev=gns3-adapter-1']);
  const [e1000, shared] = valuesOf(args, '-device');
  t.match(e1000, /^e1000,mac=/);
  t.match(shared, /^virtio-net-pci,mac=.*,speed=10000,duplex=full,vectors=0,netdev=gns3-1$/);
  t.notMatch(valuesOf(argsOf({ ...given, isKvm: true }), '-device')[1], /vectors/);
  t.same(valuesOf(argsOf({ adapters: [wire] }), '-object'), [], 'others keep their memory to themselves');
  t.throws(() => withOptions('-device vhost-user-fs-pci'), { code: 'option_forbidden' });
  t.end();
});

/** Starts the real program, which ends at once by its monitor; returns its status and words. */
function tryProgram(given: Partial<QemuCommandInput>): { status: number | null; stderr: string } {
  const { command, args } = qemuCommand(inputOf({ consoleType: 'none', ...given }));
  const at = args.indexOf('-qmp');
  const spoken = [...args.slice(0, at), '-qmp', 'stdio', ...args.slice(at + 2)];
  const input = '{"execute":"qmp_capabilities"}\n{"execute":"quit"}\n';
  const { status, stderr } = spawnSync(command, spoken, { input, timeout: patience(60_000) });
  return { status, stderr: stderr.toString() };
}

const isMissing = spawnSync('qemu-system-x86_64', ['--version']).status !== 0;
const skip = isMissing && 'the program qemu-system-x86_64 is missing: install the package qemu-system-x86';

void t.test('QEMU takes the line: names, consoles, up to 275 adapters', { skip }, (t) => {
  const ends = (given: Partial<QemuCommandInput>, title: string): void => {
    t.same(tryProgram(given), { status: 0, stderr: '' }, title);
  };
  ends({ node: { ...NODE, name: `a,b="c" 'd' 50% debug=1` } }, 'a name of all characters');
  for (const count of [0, 28, 29, 60, 275])
    ends({ adapters: wires(count), properties: { adapter_type: 'rtl8139' } }, `${count} adapters`);
  ends({ properties: { legacy_networking: true } }, 'legacy networking');
  ends({ properties: { options: '-machine q35', adapter_type: 'e1000e' }, adapters: wires(31) }, 'q35');
  t.end();
});

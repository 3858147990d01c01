/** The memory of a guest that was booted by UEFI and has a TPM: registers of the TPM are of the same moment. */
import { existsSync } from 'node:fs';
import t from 'tap';
import { GUEST, missingGuest, placeGuest } from '../../../../support/linux-guest.js';
import { NodeLab, type Json } from '../../../../support/node-lab.js';
import type { NodeTerminal } from '../../../../support/node-terminal.js';
import { startQemuServer } from '../../../../support/qemu.js';

const missing = missingGuest();
const hasFirmware = existsSync('/usr/share/OVMF/OVMF_CODE_4M.fd');
const hasTpm = existsSync('/usr/bin/swtpm');
const skip =
  missing !== false ? missing : hasFirmware && hasTpm ? false : 'install the packages ovmf and swtpm';
const server = await startQemuServer(t);
if (skip === false) placeGuest(t, server.data);

const READY = /the guest is ready/;
/** TPM2_PCR_Extend of register 16, which is free for tests, by a digest of ones. */
const EXTEND = [
  ...['8002', '00000041', '00000182', '00000010', '00000009', '40000009', '0000', '00', '0000'],
  ...['00000001', '000b', '11'.repeat(32)],
].join('');
const ESCAPED = EXTEND.replace(/../g, '\\x$&');

/** The register of the TPM that the tests extend. */
async function register(shell: NodeTerminal): Promise<string> {
  const text = await shell.run('cat /sys/class/tpm/tpm0/pcr-sha256/16');
  const [found] = /[0-9A-F]{64}/.exec(text) ?? [];
  if (found === undefined) throw new Error(`the guest has no TPM: ${text}`);
  return found;
}

async function extend(shell: NodeTerminal): Promise<string> {
  await shell.run(`exec 3<>/dev/tpm0; printf '${ESCAPED}' >&3; dd bs=4096 count=1 <&3 | wc -c; exec 3>&-`);
  return register(shell);
}

void t.test(
  'a guest with UEFI and a TPM is kept, and stopped, and goes on with both',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const firmware = { uefi: true, tpm: true, on_close: 'save_vm_state' };
    const guest = await lab.node('qemu', 'G1', { ...GUEST, ...firmware, ram: 256 });
    await lab.act(guest, 'start');
    const shell = await lab.console(t, guest);
    await shell.until(READY);
    const first = await register(shell);
    const kept = await extend(shell);
    t.not(kept, first, 'the register is extended');
    await shell.run('mark=kept');
    const snapshot: Json = await lab.client.expect(201, 'POST', `${lab.path}/snapshots?running=true`, {
      name: 'kept',
    });
    t.equal(await register(shell), kept, 'the guest and its TPM go on');
    const later = await extend(shell);
    t.not(later, kept);
    await shell.run('mark=later');

    await lab.act(guest, 'stop');
    t.match(await lab.act(guest, 'start'), { command_line: / -incoming defer/ });
    const resumed = await lab.console(t, guest);
    t.match(await resumed.run('echo mark=$mark'), /mark=later/);
    t.equal(await register(resumed), later, 'after a stop the TPM is as it was');

    const { status } = await lab.client.post(
      `${lab.path}/snapshots/${String(snapshot['snapshot_id'])}/restore`,
    );
    t.equal(status, 201);
    t.match(await lab.show(guest), { status: 'started' });
    const restored = await lab.console(t, guest);
    t.match(await restored.run('echo mark=$mark'), /mark=kept/);
    t.equal(await register(restored), kept, 'the TPM is of the moment of the snapshot');
    t.equal(await extend(restored), later, 'and works');
  },
);

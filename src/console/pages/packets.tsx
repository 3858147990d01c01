/** Live packets of a lab: what passes its links now, taken apart. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { send } from '../api/call.js';
import { checkPackets, packetStream, showLab, showLinks } from '../api/packets.js';
import { OpenInWireshark } from '../packets/open-in-wireshark.js';
import { PacketDetails } from '../packets/packet-details.js';
import { PacketList, type ChosenPacket } from '../packets/packet-list.js';
import type { LinkName } from '../packets/packet-messages.js';
import { PACKET_TEXTS as texts } from '../packets/texts.js';
import { Chooser } from '../parts/chooser.js';
import { saveFile } from '../parts/download.js';
import { Failure, Loading } from '../parts/notice.js';
import { PacketClient } from '../state/packets.js';
import { go, packetsAddress } from '../state/place.js';
import { failed } from '../state/toasts.js';

const KEPT = [0, 64, 256, 1500];

interface PacketsPageProps {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

interface NamedLab {
  readonly name: string;
  readonly links: readonly LinkName[];
}

async function readLab(id: string): Promise<NamedLab> {
  const [{ name }, { nodes, links }] = await Promise.all([send(showLab(id)), send(showLinks(id))]);
  const named = links.map(({ link_id, ends }) => ({
    id: link_id,
    name: ends.map(([node]) => nodes[node]?.name ?? '').join('–'),
  }));
  return { name, links: named.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true })) };
}

export function PacketsPage({ params, query }: PacketsPageProps): JSX.Element {
  const id = params['id'] ?? '';
  const lab = useSignal<NamedLab | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const asked = useSignal({ bpf: query.get('bpf') ?? '', snaplen: 0 });
  const chosen = useSignal<ChosenPacket | undefined>(undefined);
  const top = useSignal<number | undefined>(undefined);
  const isOpening = useSignal(false);
  const client = useMemo(() => new PacketClient(), []);
  const links = (query.get('links') ?? '').split(',').filter((one) => one !== '');

  useEffect(() => {
    readLab(id).then(
      (found) => (lab.value = found),
      (reason: unknown) => (error.value = reason),
    );
    return () => client.end();
  }, []);
  useEffect(() => {
    let isCurrent = true;
    const { value } = lab;
    if (value === undefined) return undefined;
    const selection = { links, ...asked.value };
    checkPackets(id, selection).then(
      () => {
        if (!isCurrent) return;
        error.value = undefined;
        chosen.value = undefined;
        top.value = undefined;
        client.open(packetStream(id, selection), value.links);
      },
      (reason: unknown) => {
        if (!isCurrent) return;
        client.close();
        error.value = reason;
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [lab.value, links.join(), asked.value]);

  if (lab.value === undefined)
    return error.value === undefined ? <Loading /> : <Failure error={error.value} />;
  return (
    <div class="page packets">
      <div class="bar">
        <h1>{texts.title}</h1>
        <span class="count">
          {texts.lab} {lab.value.name}
        </span>
        <Chooser
          title={texts.links}
          things={lab.value.links}
          chosen={links}
          onChange={(ids) => go(packetsAddress(id, ids))}
          none={texts.allLinks}
          some={texts.chosen}
          hasNone
        />
        <Capture {...asked.value} onApply={(bpf, snaplen) => (asked.value = { bpf, snaplen })} />
      </div>
      {error.value !== undefined && <Failure error={error.value} />}
      <Shown client={client} top={top} onNew={() => (chosen.value = undefined)} />
      <PacketList client={client} chosen={chosen} top={top} />
      <PacketDetails client={client} chosen={chosen.value} />
      <Foot client={client} name={lab.value.name} onWireshark={() => (isOpening.value = true)} />
      {isOpening.value && (
        <OpenInWireshark
          lab={id}
          name={lab.value.name}
          selection={{ links, ...asked.value }}
          onClose={() => (isOpening.value = false)}
        />
      )}
    </div>
  );
}

interface CaptureProps {
  readonly bpf: string;
  readonly snaplen: number;
  readonly onApply: (bpf: string, snaplen: number) => void;
}

/** The filter of the server: what does not fit never comes. */
function Capture({ bpf, snaplen, onApply }: CaptureProps): JSX.Element {
  const text = useSignal(bpf);
  const kept = useSignal(snaplen);
  const apply = (event: Event): void => {
    event.preventDefault();
    onApply(text.value.trim(), kept.value);
  };
  return (
    <form class="bar capture" onSubmit={apply}>
      <input
        aria-label={texts.bpf}
        placeholder={texts.bpfHint}
        maxLength={4096}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      <select
        aria-label={texts.kept}
        value={String(kept.value)}
        onChange={({ currentTarget }) => (kept.value = Number(currentTarget.value))}
      >
        {KEPT.map((octets) => (
          <option key={octets} value={octets}>
            {texts.keptOctets(octets)}
          </option>
        ))}
      </select>
      <button>{texts.apply}</button>
    </form>
  );
}

interface ShownProps {
  readonly client: PacketClient;
  readonly top: { value: number | undefined };
  readonly onNew: () => void;
}

/** The filter of the page, how many packets fit it, and whether the list stays at its end. */
function Shown({ client, top, onNew }: ShownProps): JSX.Element {
  const seen = useSignal(0);
  const { first = 0, end = 0, held = 0, progress = 1 } = client.state.value ?? {};
  const isFollowing = top.value === undefined;
  useEffect(() => {
    if (isFollowing) seen.value = end;
  }, [isFollowing, isFollowing ? end : 0]);
  const wrong = client.filter.value?.wrong;
  return (
    <div class="bar">
      <input
        type="search"
        aria-label={texts.show}
        aria-invalid={wrong !== undefined}
        aria-describedby="show-wrong"
        placeholder={texts.showHint}
        spellcheck={false}
        onInput={({ currentTarget }) => {
          onNew();
          client.show(currentTarget.value);
        }}
      />
      <span class="count" role="status">
        {texts.shown(end - first, held, progress)}
      </span>
      <button
        type="button"
        aria-pressed={!isFollowing}
        onClick={() => {
          top.value = isFollowing ? Math.max(first, end - 1) : undefined;
        }}
      >
        {isFollowing ? texts.pause : texts.follow(Math.max(0, end - seen.value))}
      </button>
      <p id="show-wrong" class="wrong" role="alert">
        {wrong === undefined ? '' : texts.wrong(wrong.at, wrong.message)}
      </p>
    </div>
  );
}

/** The foot of the page: how much is held, how much was lost, and files of it. */
interface FootProps {
  readonly client: PacketClient;
  readonly name: string;
  readonly onWireshark: () => void;
}

function Foot({ client, name, onWireshark }: FootProps): JSX.Element {
  const { stream = 'closed', heldOctets = 0, seconds = 0, lost = 0, held = 0 } = client.state.value ?? {};
  const save = async (isFiltered: boolean): Promise<void> => {
    try {
      const { file } = await client.save(isFiltered);
      saveFile(file, `${name}.pcapng`);
    } catch (error) {
      failed(error);
    }
  };
  return (
    <div class="bar packet-foot">
      <span class="count">
        <span class={stream === 'live' ? 'state good' : 'state warn'}>
          <span aria-hidden="true">{stream === 'live' ? '●' : '○'}</span> {texts.streams[stream]}
        </span>
        {' · '}
        {texts.held(heldOctets, seconds)} ·{' '}
        <span class={lost > 0 ? 'state bad' : undefined}>{texts.lost(lost)}</span>
      </span>
      <button type="button" onClick={onWireshark}>
        {texts.wireshark.open}
      </button>
      <button type="button" disabled={held === 0} onClick={() => void save(false)}>
        {texts.save}
      </button>
      <button type="button" disabled={held === 0} onClick={() => void save(true)}>
        {texts.saveShown}
      </button>
    </div>
  );
}

/** The line that shows packets in Wireshark: its address has a ticket in the place of credentials. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { packetFile, pipedLine, type PacketSelection } from '../api/packets.js';
import { createTicket } from '../api/tickets.js';
import { CopiedLine } from '../parts/copied-line.js';
import { Dialog } from '../parts/dialog.js';
import { Failure, Loading } from '../parts/notice.js';
import { useReading } from '../state/reading.js';
import { PACKET_TEXTS } from './texts.js';

const { wireshark: texts } = PACKET_TEXTS;
const PROGRAM = 'wireshark -k -i -';
const MILLISECONDS = 1000;

interface OpenInWiresharkProps {
  readonly lab: string;
  /** The name for a file. */
  readonly name: string;
  readonly selection: PacketSelection;
  readonly onClose: () => void;
}

export function OpenInWireshark({ lab, name, selection, onClose }: OpenInWiresharkProps): JSX.Element {
  const path = packetFile(lab, selection);
  const { answer, error, again } = useReading(path, () => createTicket(path));
  const isOver = useSignal(false);
  const { value: ticket } = answer;
  useEffect(() => {
    isOver.value = false;
    if (ticket === undefined) return undefined;
    const timer = setTimeout(() => (isOver.value = true), ticket.expires_in * MILLISECONDS);
    return () => clearTimeout(timer);
  }, [ticket]);
  return (
    <Dialog title={texts.title} onClose={onClose}>
      {error.value !== undefined && <Failure error={error.value} />}
      {ticket === undefined && error.value === undefined && <Loading />}
      {ticket !== undefined && (
        <section class="once" aria-label={texts.line}>
          {isOver.value ? (
            <p role="status">{texts.over}</p>
          ) : (
            <>
              <p>{texts.once(ticket.expires_in)}</p>
              <CopiedLine line={pipedLine(ticket.url, PROGRAM)} label={texts.line} />
            </>
          )}
        </section>
      )}
      <p class="buttons">
        <button type="button" onClick={() => void again()}>
          {texts.again}
        </button>
        <a class="button" href={path} download={`${name}.pcapng`}>
          {texts.download}
        </a>
      </p>
      <p class="hint">{texts.hint}</p>
    </Dialog>
  );
}

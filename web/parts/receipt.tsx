/** After saving: which serial it became, and when every server answers it. */

import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.js';
import { Button } from '../kit/button.js';
import type { Zone, ZoneChange } from '../types.js';

export interface Saved {
  /** Number of the change; undefined when nothing changed for resolvers. */
  readonly change: string | undefined;
  readonly serial: string | undefined;
  readonly at: number;
}

interface ReceiptProps {
  readonly zone: Zone;
  readonly saved: Saved;
  readonly onClose: () => void;
}

const FIRST_PAUSE_MS = 150;
const LONGEST_PAUSE_MS = 5000;

export function Receipt({ zone, saved: { change, serial }, onClose }: ReceiptProps) {
  const [progress, setProgress] = useState<ZoneChange>();
  useEffect(() => {
    if (change === undefined) return;
    const ended = new AbortController();
    let pauseMs = FIRST_PAUSE_MS;
    let timer: ReturnType<typeof setTimeout>;
    const look = async (): Promise<void> => {
      try {
        const { result } = await call<ZoneChange>('GET', `/zones/${zone.id}/changes/${change}`, {
          signal: ended.signal,
        });
        setProgress(result);
        if (isEverywhere(result)) return;
      } catch {
        if (ended.signal.aborted) return;
      }
      pauseMs = Math.min(pauseMs * 1.6, LONGEST_PAUSE_MS);
      timer = setTimeout(() => void look(), pauseMs);
    };
    void look();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [zone.id, change]);
  const done = change === undefined || (progress !== undefined && isEverywhere(progress));
  return (
    <div class={`note ${done ? 'note-good' : 'note-wait'}`} role="status">
      <p>{textOf(change, serial, progress)}</p>
      <Button class="quiet" onClick={onClose} text="Close" />
    </div>
  );
}

function isEverywhere({ status, secondaries }: ZoneChange): boolean {
  return status === 'INSYNC' && secondaries.every((secondary) => secondary.status === 'INSYNC');
}

function textOf(change: string | undefined, serial: string | undefined, progress: ZoneChange | undefined): string {
  if (change === undefined) return 'Saved. Nothing changed for resolvers.';
  const saved = `Saved as serial ${serial}`;
  if (!progress || progress.status === 'PENDING') {
    const held = progress?.processes.some((process) => process.held);
    return held
      ? `${saved}, but a DNS process cannot publish it yet; its log has the reason.`
      : `${saved}. The servers are taking it over…`;
  }
  const behind = progress.secondaries.filter(({ status }) => status === 'PENDING').map(({ name }) => name);
  if (behind.length === 0) return `${saved} · served everywhere`;
  return `${saved} · served here; ${behind.join(', ')} ${behind.length === 1 ? 'has' : 'have'} not transferred it yet.`;
}

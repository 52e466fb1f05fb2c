/** What the parent has, said by people: where its servers cannot be asked from here. */
import { readAgain, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { ErrorNote } from '../../parts/notes.js';
import type { Dnssec } from '../../types.js';

interface SaidByHandProps {
  /** Of the zone's DNSSEC. */
  readonly path: string;
  readonly dnssec: Dnssec;
}

export function SaidByHand({ path, dnssec: { status, key_tag: tag } }: SaidByHandProps) {
  const sending = useSending(readAgain);
  if (status !== 'pending' && status !== 'pending-disabled') return null;
  const request = { method: 'POST', path: `${path}/ds_seen`, body: { key_tag: status === 'pending' ? tag : null } };
  const say = (): void => void sending.send(request.method, request.path, { body: request.body });
  return (
    <>
      <p class="muted">
        {status === 'pending'
          ? 'If this server cannot reach the servers of the parent, look yourself, for example with dig, and say so when all of them have the DS record.'
          : 'If this server cannot reach the servers of the parent, look yourself, for example with dig, and say so when none of them has a DS record any more.'}
      </p>
      <Confirm
        verb={status === 'pending' ? 'The parent has it' : 'The parent has none'}
        what="say what the parent has"
        busy={sending.busy}
        onConfirm={say}
      />
      {sending.error && <ErrorNote error={sending.error} />}
      <Curl request={request} />
    </>
  );
}

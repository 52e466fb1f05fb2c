/** What a zone that is not answered yet waits for. */

import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { Button } from '../kit/button.js';
import { readAgain, useSending } from '../load.js';
import type { Zone } from '../types.js';
import { Curl } from './curl.js';
import { ErrorNote } from './notes.js';

const TITLES: Readonly<Partial<Record<Zone['status'], string>>> = {
  pending: 'This zone is not active yet',
  moved: 'This zone is not answered any more',
};

export function AwaitedDelegation({ zone, writes }: { readonly zone: Zone; readonly writes: boolean }) {
  const [found, setFound] = useState<string>();
  const sending = useSending();
  const title = TITLES[zone.status];
  if (title === undefined) return null;
  const path = `/zones/${zone.id}/activation_check`;
  const check = (): void =>
    void sending.run(async () => {
      const { messages } = await call<{ readonly id: string }>('PUT', path);
      setFound(messages.map(({ message }) => message).join(' '));
      readAgain();
    });
  return (
    <section class="statement" aria-label="Delegation">
      <div>
        <h2>{title}</h2>
        <p>{zone.meta.proof_detail}</p>
        <p>
          Its name servers: <code>{zone.name_servers.join(', ')}</code>
        </p>
        {found !== undefined && <p role="status">{found}</p>}
        {sending.error && <ErrorNote error={sending.error} />}
        {writes && <Curl request={{ method: 'PUT', path }} />}
      </div>
      {writes && (
        <Button
          class="primary"
          disabled={sending.busy}
          onClick={check}
          text={sending.busy ? 'Checking…' : 'Check now'}
        />
      )}
    </section>
  );
}

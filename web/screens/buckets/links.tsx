/** Links to objects that hold for a time. */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { ChoiceField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { Copyable } from '../../parts/curl.js';
import { ErrorNote } from '../../parts/notes.js';
import type { ObjectLink } from '../../types.js';
import { shownKey } from './keys.js';

const TIMES = [
  ['600', '10 minutes'],
  ['3600', 'an hour'],
  ['86400', 'a day'],
  ['604800', 'a week'],
] as const;

export interface Links {
  readonly busy: boolean;
  readonly copy: (key: string) => void;
  readonly shown: ReturnType<typeof Shown>;
}

/** `base`: path of the bucket. */
export function useLinks(base: string): Links {
  const [expires, setExpires] = useState('3600');
  const [made, setMade] = useState<{ readonly key: string; readonly url: string }>();
  const sending = useSending();
  const copy = (key: string): void =>
    void sending.run(async () => {
      const body = { key, expires: Number(expires) };
      const { result } = await call<ObjectLink>('POST', `${base}/links`, { body });
      setMade({ key, url: result.url });
      // Where there is no clipboard, the link is copied by hand.
      if ('clipboard' in navigator) await navigator.clipboard.writeText(result.url).catch(() => undefined);
    });
  const shown = (
    <Shown
      expires={expires}
      onExpires={setExpires}
      made={made}
      error={sending.error}
      onClose={() => setMade(undefined)}
    />
  );
  return { busy: sending.busy, copy, shown };
}

interface ShownProps {
  readonly expires: string;
  readonly onExpires: (expires: string) => void;
  readonly made: { readonly key: string; readonly url: string } | undefined;
  readonly error: ReturnType<typeof useSending>['error'];
  readonly onClose: () => void;
}

function Shown({ expires, onExpires, made, error, onClose }: ShownProps) {
  return (
    <>
      <ChoiceField label="Links hold for" narrow value={expires} onChange={onExpires} choices={TIMES} />
      {error && <ErrorNote error={error} />}
      {made && (
        <div class="note note-good" role="status">
          <p>
            With this link, anybody may read <bdi>{shownKey(made.key)}</bdi>:
          </p>
          <Copyable text={made.url} label="link" />
          <Button class="quiet" onClick={onClose} text="Close" />
        </div>
      )}
    </>
  );
}

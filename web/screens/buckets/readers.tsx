/** Who can read a bucket without a credential: names of zones that show it, and the bucket application with its allow-list. */

import { useState } from 'preact/hooks';
import { LineForm, TextField } from '../../kit/form.js';
import { useLoad, useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Facts, Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { usePermissions } from '../../session.js';
import type { BucketApplication } from '../../types.js';
import { Domains } from './domains.js';

/** `base`: path of the bucket. */
export function Readers({ base }: { readonly base: string }) {
  return (
    <div class="columns">
      <Domains base={base} />
      <Application base={base} />
    </div>
  );
}

function Application({ base }: { readonly base: string }) {
  const path = `${base}/application`;
  const { answer, error, reload } = useLoad<BucketApplication>(path);
  const { administrator } = usePermissions();
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return null;
  const { bindings, served, url, allow_list: allowed } = answer.result;
  const state = served ? <span class="chip good">Served</span> : <span class="chip">Not served</span>;
  return (
    <Panel title="Bucket application" aside={state}>
      <p class="muted">
        {served
          ? 'The bucket application serves this bucket. Reading needs the secret in AUTH_KEY_SECRET, except for the keys below; so does every change.'
          : 'The bucket application serves the bucket that was bound last, which is another one, or none.'}
      </p>
      <Facts
        facts={[
          { name: 'Bound as', value: bindings.length === 0 ? 'nothing' : <code>{bindings.join(', ')}</code> },
          ...(url === null ? [] : [{ name: 'Address', value: <a href={url}>{url}</a> }]),
          ...(served ? [{ name: 'Anyone may read', value: <Allowed keys={allowed} /> }] : []),
        ]}
      />
      {administrator && !served && <Bind path={path} onDone={reload} />}
      <p class="hint">
        The setting <code>bucket-allow-list</code> names the keys that anyone may read. Secrets are shown nowhere.
      </p>
    </Panel>
  );
}

function Allowed({ keys }: { readonly keys: readonly string[] }) {
  if (keys.length === 0) return 'nothing: the allow-list is empty';
  return keys.map((key) => (
    <div key={key}>
      <code>{key}</code>
    </div>
  ));
}

function Bind({ path, onDone }: { readonly path: string; readonly onDone: () => void }) {
  const [binding, setBinding] = useState('MY_BUCKET');
  const sending = useSending(onDone);
  const body = { binding: binding.trim() };
  const submit = (): void => {
    void sending.send('PUT', path, { body });
  };
  return (
    <>
      <LineForm onSubmit={submit} sending={sending} verb="Bind" doing="Binding…">
        <TextField label="Serve this bucket as" required value={binding} onChange={setBinding} />
      </LineForm>
      <Curl request={{ method: 'PUT', path, body }} />
    </>
  );
}

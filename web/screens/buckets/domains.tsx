/** The names of zones at which everybody may read a bucket. */

import { useState } from 'preact/hooks';
import { ApiError, call, pathWith } from '../../api.js';
import { LineForm, TextField } from '../../kit/form.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { oneWord } from '../../parts/typed.js';
import { asciiName } from '../../parts/zone.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { BucketDomain, Zone } from '../../types.js';

/** `base`: path of the bucket. */
export function Domains({ base }: { readonly base: string }) {
  const path = `${base}/domains/custom`;
  const { answer, error, reload } = useLoad<{ readonly domains: readonly BucketDomain[] }>(path);
  const writes = mayWrite(usePermissions(), 'buckets');
  const sending = useSending();
  const remove = (domain: string): void =>
    void sending.run(async () => {
      await call('DELETE', `${path}/${encodeURIComponent(domain)}`);
      reload();
    });
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return null;
  const { domains } = answer.result;
  return (
    <Panel title="Public names">
      <p class="muted">
        {domains.length === 0 ? 'No name of a zone shows this bucket to the public. At' : 'At'} a name that you attach,
        everybody may read all objects, with HTTPS.
      </p>
      {domains.length > 0 && (
        <ul class="plain-list">
          {domains.map((item) => (
            <li key={item.domain}>
              <a href={`https://${item.domain}/`}>{item.domain}</a>
              <State {...item} />
              {writes && (
                <Confirm
                  verb="Detach"
                  what={item.domain}
                  busy={sending.busy}
                  quiet
                  onConfirm={() => remove(item.domain)}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {sending.error && <ErrorNote error={sending.error} />}
      {writes && <Attach path={path} onDone={reload} />}
    </Panel>
  );
}

function State({ enabled, status }: BucketDomain) {
  const isPublic = enabled && status.ownership === 'active';
  return (
    <span class={`chip ${isPublic ? 'good' : 'wait'}`}>{isPublic ? 'Public' : enabled ? 'Not ready' : 'Off'}</span>
  );
}

function Attach({ path, onDone }: { readonly path: string; readonly onDone: () => void }) {
  const [name, setName] = useState('');
  const sending = useSending();
  const domain = asciiName({ name: oneWord(name).replace(/\.$/, '') }).toLowerCase();
  const submit = (): void => {
    void sending.run(async () => {
      await call('POST', path, { body: { domain, zoneId: (await zoneOf(domain)).id, enabled: true } });
      setName('');
      onDone();
    });
  };
  return (
    <>
      <LineForm onSubmit={submit} sending={sending} verb="Attach" doing="Attaching…">
        <TextField
          label="Name in one of your zones"
          required
          value={name}
          placeholder="assets.example.com"
          autocapitalize="none"
          spellcheck={false}
          onChange={setName}
        />
      </LineForm>
      <Curl
        request={{
          method: 'POST',
          path,
          body: { domain: domain || 'assets.example.com', zoneId: 'ID OF THE ZONE', enabled: true },
        }}
      />
    </>
  );
}

/** The zone that a name belongs to: that with the longest name. Throws an {@link ApiError} when there is none. */
async function zoneOf(domain: string): Promise<Zone> {
  const { result } = await call<Zone[]>('GET', pathWith('/zones', { encloses: domain, per_page: MOST_ZONES }));
  const isActive = ({ status }: Zone): number => (status === 'active' ? 1 : 0);
  const [zone] = result.toSorted((a, b) => asciiName(b).length - asciiName(a).length || isActive(b) - isActive(a));
  if (zone) return zone;
  throw new ApiError(0, [{ code: 0, message: `No zone that you may see contains the name ${domain}.` }]);
}

/** More than there are above one another. */
const MOST_ZONES = 50;

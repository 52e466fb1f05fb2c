/** Where requests for custom hostnames go: the fallback origin of the zone. Without one, no hostname becomes active. */

import { useId, useRef, useState } from 'preact/hooks';
import { pathWith } from '../../api.js';
import { Button } from '../../kit/button.js';
import { LineForm } from '../../kit/form.js';
import { type Loaded, useLoad, useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { oneWord } from '../../parts/typed.js';
import { asciiName } from '../../parts/zone.js';
import { Link } from '../../router.js';
import type { DnsRecord, FallbackOrigin as Fallback, Zone } from '../../types.js';

const NOT_FOUND = 404;

/** Below the path of the zone's hostnames. */
export const fallbackPath = (base: string): string => `${base}/fallback_origin`;

interface FallbackProps {
  readonly zone: Zone;
  /** Path of the custom hostnames. */
  readonly base: string;
  /** Address of the zone's screens. */
  readonly screens: string;
  readonly loaded: Loaded<Fallback>;
  readonly writes: boolean;
  readonly onChange: () => void;
}

export function FallbackOrigin({ zone, base, screens, loaded, writes, onChange }: FallbackProps) {
  const [changing, setChanging] = useState(false);
  const { answer, error, reload } = loaded;
  const known = useRef<boolean>(undefined);
  if (error?.status === NOT_FOUND) known.current = false;
  else if (answer && !error) known.current = true;
  const isMissing = known.current === false;
  // What was known, and what somebody types, stays while the server is away.
  if (error && known.current === undefined) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer && !isMissing) return null;
  const origin = isMissing ? undefined : answer?.result.origin;
  const works = !isMissing && answer?.result.status === 'active';
  const state = works ? (
    <span class="chip good">Works</span>
  ) : (
    <span class="chip wait">{origin === undefined ? 'Not chosen' : 'No proxied record'}</span>
  );
  return (
    <Panel title="Where the requests go" aside={state}>
      {origin === undefined ? (
        <p class="muted">
          Custom hostnames need a fallback origin: the name of a proxied A, AAAA or CNAME record of this zone. Requests
          for hostnames of your customers go to its server, and your customers point their names to it.
        </p>
      ) : (
        <p>
          Requests go to the server of <code>{origin}</code>, the fallback origin.{' '}
          {!works && (
            <>
              This zone has no proxied A, AAAA or CNAME record of that name:{' '}
              <Link href={`${screens}/records`}>add it</Link>.
            </>
          )}
        </p>
      )}
      {writes && origin !== undefined && !changing && (
        <Button onClick={() => setChanging(true)} text="Choose another one" />
      )}
      {writes && (origin === undefined || changing) && (
        <Choice
          zone={zone}
          path={fallbackPath(base)}
          screens={screens}
          onDone={() => {
            setChanging(false);
            onChange();
          }}
        />
      )}
    </Panel>
  );
}

interface ChoiceProps {
  readonly zone: Zone;
  readonly path: string;
  readonly screens: string;
  readonly onDone: () => void;
}

function Choice({ zone, path, screens, onDone }: ChoiceProps) {
  const [origin, setOrigin] = useState('');
  const sending = useSending(onDone);
  const list = useId();
  const proxied = useLoad<DnsRecord[]>(pathWith(`/zones/${zone.id}/dns_records`, { proxied: 'true', per_page: 100 }));
  const names = [...new Set((proxied.answer?.result ?? []).map(({ name }) => name))];
  const body = { origin: asciiName({ name: oneWord(origin) }) };
  const submit = (): void => {
    void sending.send('PUT', path, { body });
  };
  return (
    <>
      {proxied.answer && names.length === 0 && (
        <p class="hint">
          No record of this zone is proxied yet. <Link href={`${screens}/records`}>Add one first</Link>: the address of
          your web server, with “Proxied through the edge”.
        </p>
      )}
      <LineForm onSubmit={submit} sending={sending} verb="Set it" doing="Setting…">
        <label class="field">
          <span>Fallback origin</span>
          <input
            required
            value={origin}
            list={list}
            placeholder={names[0] ?? `origin.${zone.name}`}
            autocapitalize="none"
            spellcheck={false}
            onInput={(event) => setOrigin(event.currentTarget.value)}
          />
          <datalist id={list}>
            {names.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </label>
      </LineForm>
      <Curl request={{ method: 'PUT', path, body }} />
    </>
  );
}

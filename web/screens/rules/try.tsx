/** «This URL → 301 to …»: what the rules do with a request that nobody sends. */
import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { LineForm, TextField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import type { RuleTrial } from '../../types.js';
import { PHASES } from './phases.js';

interface Props {
  readonly path: string;
  /** A name of the zone, for the example. */
  readonly host: string;
}

export function Try({ path, host }: Props) {
  const [url, setUrl] = useState('');
  const [tried, setTried] = useState<{ readonly url: string; readonly trial: RuleTrial }>();
  const sending = useSending();
  const whole = url === '' || /^https?:\/\//i.test(url) ? url : `https://${url}`;
  const request = `${path}/try?url=${encodeURIComponent(whole)}`;
  const ask = (): void =>
    void sending.run(async () => {
      setTried({ url: whole, trial: (await call<RuleTrial>('GET', request)).result });
    });
  return (
    <>
      <LineForm onSubmit={ask} sending={sending} verb="Try it" doing="Trying…" primary>
        <TextField
          label="URL to try"
          required
          spellcheck={false}
          autocapitalize="none"
          value={url}
          placeholder={`https://${host}/old`}
          onChange={setUrl}
        />
      </LineForm>
      <div role="status">{tried && <Result {...tried} />}</div>
      <Curl request={{ method: 'GET', path: request }} />
    </>
  );
}

function Result({ url, trial }: { readonly url: string; readonly trial: RuleTrial }) {
  const { redirect, loops, target, applied, request_headers: sent, response_headers: got } = trial;
  return (
    <>
      <p>
        <span class="mono">{url}</span> →{' '}
        {redirect ? (
          <strong>
            {redirect.status} to <span class="mono">{redirect.location}</span>
          </strong>
        ) : (
          <strong>
            the origin gets <span class="mono">{target}</span>
          </strong>
        )}
      </p>
      {loops && <p class="bad">The redirects of this zone go in a circle: the client never arrives.</p>}
      {applied.length === 0 ? (
        <p class="muted">No rule matches.</p>
      ) : (
        <ul>
          {applied.map(({ phase, id, description }) => (
            <li key={`${phase} ${id}`}>
              {titleOf(phase)}: {description || id || 'the setting of the zone'}
            </li>
          ))}
        </ul>
      )}
      {applied.some(({ phase }) => phase === 'http_request_late_transform') && (
        <Fields title="To the origin" fields={sent} />
      )}
      {applied.some(({ phase }) => phase === 'http_response_headers_transform') && (
        <Fields title="To the client" fields={got} />
      )}
    </>
  );
}

function titleOf(phase: string): string {
  if (phase === 'page_rules') return 'Page rule';
  return PHASES.find(({ name }) => name === phase)?.title ?? 'Always use HTTPS';
}

function Fields({ title, fields }: { readonly title: string; readonly fields: RuleTrial['request_headers'] }) {
  return (
    <>
      <h3>{title}</h3>
      <ul class="mono">
        {fields.map(({ name, value }, i) => (
          <li key={`${name} ${i}`}>
            {name}: {value}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Explains what a load balancer answers to a client: which pool, which origin, and why. The server runs its real code. */
import { useState } from 'preact/hooks';
import { pathWith } from '../../api.js';
import { ChoiceField, TextField } from '../../kit/form.js';
import { useLoad } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { Columns, TableFrame } from '../../parts/table.js';
import { oneWord } from '../../parts/typed.js';
import type { BalancerExplanation } from '../../types.js';

interface Question {
  readonly type: string;
  readonly client: string;
  readonly client_subnet: string;
  readonly country: string;
  readonly at: string;
}

const NOBODY: Question = { type: 'A', client: '', client_subnet: '', country: '', at: '' };

/** `path`: path of the load balancer. */
export function ExampleClient({ path }: { readonly path: string }) {
  const [typed, setTyped] = useState(NOBODY);
  const [asked, setAsked] = useState<Question>();
  const explain = asked && pathWith(`${path}/explain`, { ...asked });
  const { answer, error, busy, reload } = useLoad<BalancerExplanation>(explain);
  const change = (part: Partial<Question>): void => setTyped({ ...typed, ...part });
  const ask = (event: SubmitEvent): void => {
    event.preventDefault();
    const { client, client_subnet, country, at } = typed;
    const words = { client: oneWord(client), client_subnet: oneWord(client_subnet), country: oneWord(country) };
    setAsked({ ...typed, ...words, at: oneWord(at) });
    // The same question may have a different answer now.
    if (asked) reload();
  };
  return (
    <details>
      <summary>What does a client get?</summary>
      <form class="tools question" onSubmit={ask}>
        <TextField
          label="Client address"
          value={typed.client}
          placeholder="192.0.2.53"
          spellcheck={false}
          onChange={(client) => change({ client })}
        />
        <TextField
          label="Client subnet"
          value={typed.client_subnet}
          placeholder="198.51.100.0/24"
          spellcheck={false}
          onChange={(client_subnet) => change({ client_subnet })}
        />
        <TextField
          label="Country"
          value={typed.country}
          placeholder="DE"
          narrow
          onChange={(country) => change({ country })}
        />
        <TextField
          label="Time"
          value={typed.at}
          placeholder="now, or 2026-01-31T12:00:00Z"
          spellcheck={false}
          onChange={(at) => change({ at })}
        />
        <ChoiceField
          label="Type"
          value={typed.type}
          onChange={(type) => change({ type })}
          choices={[
            ['A', 'A'],
            ['AAAA', 'AAAA'],
          ]}
        />
        <button type="submit">Ask</button>
      </form>
      {error && <ErrorNote error={error} />}
      {explain && !answer && !error && <Loading what="the answer" />}
      {answer && !error && <Told found={answer.result} busy={busy} />}
      <Curl request={{ method: 'GET', path: explain ?? `${path}/explain` }} />
    </details>
  );
}

function Told({ found, busy }: { readonly found: BalancerExplanation; readonly busy: boolean }) {
  const { steps, origins, answer, rcode, client_subnet: subnet } = found;
  return (
    <div aria-busy={busy}>
      <ol>
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      {subnet && (
        <p>
          Client subnet <code>{subnet.asked}</code>: {subnet.detail}.
        </p>
      )}
      {origins.length > 0 && (
        <TableFrame label="Origins of the chosen pool">
          <Columns names={['Origin', 'Address', 'Weight', 'State']} numbers={['Weight']} />
          <tbody>
            {origins.map(({ name, address, weight, verdict }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="mono">{address}</td>
                <td class="number">{weight}</td>
                <td>{verdict}</td>
              </tr>
            ))}
          </tbody>
        </TableFrame>
      )}
      <p>
        {rcode}: <code>{answer.map((line) => line.replaceAll('\t', ' ')).join('; ') || 'no records'}</code>
      </p>
    </div>
  );
}

/** Why a question is answered as it is: the steps, the answer, and the packet. */

import { useEffect, useState } from 'preact/hooks';
import { pathWith } from '../../api.js';
import { ChoiceField } from '../../kit/form.js';
import { useLoad } from '../../load.js';
import { count } from '../../parts/count.js';
import { Curl } from '../../parts/curl.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { RECORD_TYPES } from '../../parts/record.js';
import { Cell, Columns, TableFrame } from '../../parts/table.js';
import { oneWord } from '../../parts/typed.js';
import { asciiName } from '../../parts/zone.js';
import { go, usePlace, withQuery } from '../../router.js';
import type { ZoneScreenProps } from '../../screen.js';
import type { Explanation, RecordType } from '../../types.js';

const STEPS: Readonly<Record<Explanation['steps'][number]['step'], string>> = {
  zone: 'Zone',
  node: 'Name',
  delegation: 'Delegation',
  alias: 'Alias',
  proxied: 'Proxied',
  flattened: 'Flattened',
  origin: 'Origin',
  synthesized: 'Made by the server',
  outside: 'Outside',
  signed: 'Signed',
  proof: 'Proof',
};

export default function Explain({ zone }: ZoneScreenProps) {
  const { query } = usePlace();
  const apex = asciiName(zone);
  const asked = {
    name: query.get('name') ?? apex,
    type: query.get('type') ?? 'A',
    client_subnet: query.get('subnet') ?? '',
  };
  const [name, setName] = useState(asked.name);
  const [type, setType] = useState(asked.type);
  const [subnet, setSubnet] = useState(asked.client_subnet);
  useEffect(() => {
    // The back button changes the question.
    setName(asked.name);
    setType(asked.type);
    setSubnet(asked.client_subnet);
  }, [asked.name, asked.type, asked.client_subnet]);
  const types = useLoad<RecordType[]>(RECORD_TYPES).answer?.result.map((entry) => entry.type) ?? [];
  const path = pathWith(`/zones/${zone.id}/dns_records/explain`, asked);
  const { answer, error, busy } = useLoad<Explanation>(path);
  const ask = (event: SubmitEvent): void => {
    event.preventDefault();
    go(withQuery({ name: oneWord(name) || apex, type, subnet: oneWord(subnet) }));
  };
  const offered = [...new Set([...types, 'SOA', 'DNSKEY', 'ANY', type])];
  return (
    <>
      <form class="tools question" onSubmit={ask}>
        <label class="field">
          <span>Name</span>
          <input
            class="mono"
            type="text"
            spellcheck={false}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <ChoiceField
          label="Type"
          value={type}
          onChange={setType}
          choices={offered.map((option) => [option, option] as const)}
        />
        <label class="field">
          <span>Client subnet</span>
          <input
            class="mono"
            type="text"
            spellcheck={false}
            placeholder="192.0.2.0/24"
            value={subnet}
            onInput={(event) => setSubnet(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Explain
        </button>
      </form>
      {error && <ErrorNote error={error} />}
      {!answer && !error && <Loading what="the explanation" />}
      {answer && !error && <Explained found={answer.result} busy={busy} />}
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}

interface ExplainedProps {
  readonly found: Explanation;
  readonly busy: boolean;
}

function Explained({ found: { answer, steps, edge, packets, client_subnet: subnet }, busy }: ExplainedProps) {
  return (
    <div class="explained" aria-busy={busy}>
      <section class="panel" aria-labelledby="steps-title">
        <h2 id="steps-title">Why</h2>
        <ol class="steps">
          {steps.map((step, index) => (
            <li key={index}>
              <span class="step-kind">{STEPS[step.step]}</span>
              <span class="mono step-name">{step.name}</span>
              <span class="step-detail">{step.detail}</span>
            </li>
          ))}
        </ol>
      </section>
      <section class="panel" aria-labelledby="answer-title">
        <h2 id="answer-title">
          The answer <span class={`chip ${answer.rcode === 'NOERROR' ? 'good' : 'wait'}`}>{answer.rcode}</span>{' '}
          {answer.authoritative && <span class="chip">authoritative</span>}
        </h2>
        <Section title="Answer" lines={answer.answer} none={noneOf(answer)} />
        <Section title="Authority" lines={answer.authority} />
        {subnet && (
          <p>
            Client subnet <code>{subnet.asked}</code>: {subnet.detail}.
          </p>
        )}
      </section>
      {edge && (
        <section class="panel" aria-labelledby="edge-title">
          <h2 id="edge-title">At the edge</h2>
          <p>{edge.detail}</p>
          {edge.origins.length > 0 && (
            <p>
              Origins: <code>{edge.origins.join(', ')}</code>
            </p>
          )}
          <ul class="plain">
            {edge.steps.map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ul>
        </section>
      )}
      {packets && (
        <section class="panel" aria-labelledby="packets-title">
          <h2 id="packets-title">The packets</h2>
          <PacketTable title="Question" packet={packets.query} />
          <PacketTable title="Response" packet={packets.response} open />
        </section>
      )}
    </div>
  );
}

/** Why an answer has no records. */
function noneOf({ rcode, authoritative }: Explanation['answer']): string {
  if (rcode === 'NXDOMAIN') return 'No records: the name does not exist.';
  if (rcode !== 'NOERROR') return 'No records: the question is not answered.';
  return authoritative
    ? 'No records: the name exists, but not with this type.'
    : 'No records: resolvers are sent to the name servers below.';
}

const PARTS = {
  header: 'Header',
  question: 'Question',
  answer: 'Answer',
  authority: 'Authority',
  additional: 'Additional',
} as const;

interface PacketTableProps {
  readonly title: string;
  readonly packet: NonNullable<Explanation['packets']>['query'];
  readonly open?: boolean;
}

/** Every part where it stands, in octets and in words. */
function PacketTable({ title, packet: { size, parts }, open = false }: PacketTableProps) {
  return (
    <details class="packet" open={open}>
      <summary>
        {title}, {count(size)} octets
      </summary>
      <TableFrame label={`${title} octet for octet`}>
        <Columns names={['From', 'Part', 'Octets', 'Meaning']} numbers={['From']} />
        <tbody class="dense">
          {parts.map(({ part, offset, hex, text }) => (
            <tr key={offset}>
              <td class="number muted">{offset}</td>
              <th scope="row">{PARTS[part]}</th>
              <Cell class="octets mono" value={<Octets hex={hex} />} />
              <td class="long mono">
                <span class="content" title={text}>
                  {text}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
    </details>
  );
}

/** Octets that are shown at once, as hexadecimal digits. */
const MOST_DIGITS = 2 * 96;

const grouped = (hex: string): string => hex.replaceAll(/(....)/g, '$1 ').trim();

/** The rest of a long part is shown on request. */
function Octets({ hex }: { readonly hex: string }) {
  if (hex.length <= MOST_DIGITS) return grouped(hex);
  return (
    <>
      {grouped(hex.slice(0, MOST_DIGITS))}
      <details class="more-octets">
        <summary>{count((hex.length - MOST_DIGITS) / 2)} more octets</summary>
        {grouped(hex.slice(MOST_DIGITS))}
      </details>
    </>
  );
}

interface SectionProps {
  readonly title: string;
  readonly lines: readonly string[];
  readonly none?: string;
}

function Section({ title, lines, none }: SectionProps) {
  if (lines.length === 0) return none === undefined ? null : <p class="muted">{none}</p>;
  return (
    <>
      <h3>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre class="lines" tabIndex={0}>
        {lines.map((line) => line.replaceAll('\t', '  ')).join('\n')}
      </pre>
    </>
  );
}

/** Purging: the cache of the edge forgets everything of a zone, or what is named. */

import { useState } from 'preact/hooks';
import { type ApiError, call } from '../../api.js';
import { ChoiceField, LinesField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { asciiName } from '../../parts/zone.js';
import type { Zone } from '../../types.js';

type Kind = 'files' | 'hosts' | 'prefixes' | 'tags';

interface KindText {
  readonly words: string;
  readonly one: string;
  readonly several: string;
  readonly example: (zone: string) => string;
  readonly hint: string;
}

const KINDS: Readonly<Record<Kind, KindText>> = {
  files: {
    words: 'Some addresses (URLs)',
    one: 'address',
    several: 'addresses',
    example: (zone) => `https://www.${zone}/logo.svg`,
    hint: 'Whole addresses with http or https and their query, as visitors ask for them.',
  },
  hosts: {
    words: 'All of some hosts',
    one: 'host',
    several: 'hosts',
    example: (zone) => `www.${zone}`,
    hint: 'Names of this zone, or its custom hostnames. Names below them are not purged.',
  },
  prefixes: {
    words: 'Directories',
    one: 'directory',
    several: 'directories',
    example: (zone) => `www.${zone}/blog/`,
    hint: 'Host and path without https://. Everything below is purged.',
  },
  tags: {
    words: 'What has a tag',
    one: 'tag',
    several: 'tags',
    example: () => 'product-1234',
    hint: 'Your server gives tags to responses with the header field Cache-Tag.',
  },
};

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

export function Purge({ zone }: { readonly zone: Zone }) {
  const [kind, setKind] = useState<Kind>('files');
  const [text, setText] = useState('');
  const [done, setDone] = useState<string>();
  const sending = useSending();
  const path = `/zones/${zone.id}/purge_cache`;
  const { words: _, one, several, example, hint } = KINDS[kind];
  const items = linesOf(text);
  const purge = async (body: object, what: string): Promise<boolean> => {
    setDone(undefined);
    return sending.run(async () => {
      await call('POST', path, { body });
      setDone(`Purged: ${what}. The edge asks your servers again; browsers keep what they have.`);
    });
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (await purge({ [kind]: items }, `${items.length} ${items.length === 1 ? one : several}`)) setText('');
  };
  const everything = { purge_everything: true };
  return (
    <Panel
      title="Purge"
      aside={
        <Confirm
          verb="Purge everything"
          what={`of ${zone.name}`}
          busy={sending.busy}
          onConfirm={() => void purge(everything, 'everything of this zone')}
        />
      }
    >
      <p class="muted">
        What the edge has stored is forgotten at once, and your servers are asked again. Do that when files have changed
        under the same address. The header field <code>Cf-Cache-Status</code> of a response says whether it was stored:{' '}
        <code>HIT</code>.
      </p>
      <form class="form" onSubmit={(event) => void submit(event)}>
        <ChoiceField
          label="What to purge"
          value={kind}
          onChange={(value) => setKind(value as Kind)}
          choices={Object.entries(KINDS).map(([id, about]) => [id, about.words] as const)}
        />
        <LinesField
          label={<>One {one} a line</>}
          required
          rows={3}
          value={text}
          placeholder={example(asciiName(zone))}
          spellcheck={false}
          autocapitalize="none"
          onChange={setText}
          hint={hint}
        />
        <span class="actions">
          <button type="submit" disabled={sending.busy || items.length === 0}>
            {sending.busy ? 'Purging…' : `Purge ${items.length > 1 ? several : one}`}
          </button>
        </span>
      </form>
      <div class="answered" role="status">
        {done !== undefined && (
          <div class="note note-good">
            <p>{done}</p>
          </div>
        )}
      </div>
      {sending.error && <Refusal error={sending.error} items={items} />}
      <Curl
        request={{ method: 'POST', path, body: { [kind]: items.length > 0 ? items : [example(asciiName(zone))] } }}
        others={{ 'Purge everything': { method: 'POST', path, body: everything } }}
      />
    </Panel>
  );
}

/** Which line a refusal is about: the API counts from 0. */
function Refusal({ error, items }: { readonly error: ApiError; readonly items: readonly string[] }) {
  const places = error.errors.map(({ source }) => /^\/\w+\/(\d+)$/.exec(source?.pointer ?? '')?.[1]);
  const place = places.find((found) => found !== undefined);
  const line = place === undefined ? undefined : items[Number(place)];
  return (
    <>
      <ErrorNote error={error} />
      {line !== undefined && (
        <p class="hint">
          It is about line {Number(place) + 1}, <code>{line}</code>. Nothing was purged.
        </p>
      )}
    </>
  );
}

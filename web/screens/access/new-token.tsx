/** Makes a token: permissions chosen in words, with the JSON that is sent beside them. */

import { useEffect, useId, useState } from 'preact/hooks';
import { call, pathWith } from '../../api.js';
import { Button } from '../../kit/button.js';
import { TextField } from '../../kit/form.js';
import { useLoad, useSending } from '../../load.js';
import { Copyable, Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { asciiName } from '../../parts/zone.js';
import type { CreatedToken, PermissionGroup, Zone } from '../../types.js';
import { type Draft, draftOf, EMPTY, endOf, policiesOf, TEMPLATES, WORDS } from './token-draft.js';

export function NewToken({ onMade, onClose }: { readonly onMade: () => void; readonly onClose: () => void }) {
  const groups = useLoad<PermissionGroup[]>('/user/tokens/permission_groups');
  const user = useLoad<{ readonly id: string }>('/user');
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const [made, setMade] = useState<CreatedToken>();
  const sending = useSending();
  if (made) return <Made token={made} onClose={onClose} />;
  if (groups.error) return <ErrorNote error={groups.error} onRetry={groups.reload} />;
  // Permissions about a person say which one, unless this credential may not know.
  if (!groups.answer || (!user.answer && !user.error)) return <Loading what="permissions" />;
  const list = groups.answer.result;
  const body = bodyOf(draft, list, user.answer?.result.id ?? '*');
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void sending.run(async () => {
      const { result } = await call<CreatedToken>('POST', '/user/tokens', { body });
      setMade(result);
      onMade();
    });
  };
  return (
    <Panel title="New token">
      <form class="two" onSubmit={submit}>
        <div class="form">
          <Fields draft={draft} groups={list} onChange={(change) => setDraft((before) => ({ ...before, ...change }))} />
          {sending.error && <ErrorNote error={sending.error} />}
          <div class="actions">
            <button
              type="submit"
              class="primary"
              disabled={sending.busy || draft.groups.length === 0 || draft.zone === undefined}
            >
              {sending.busy ? 'Making…' : 'Make the token'}
            </button>
            <Button onClick={onClose} text="Cancel" />
          </div>
          {draft.groups.length === 0 && <p class="hint">Choose what the token is for, or at least one permission.</p>}
        </div>
        <div>
          <h3>What is sent</h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
          <pre class="json" tabIndex={0}>
            {JSON.stringify(body, null, 2)}
          </pre>
        </div>
      </form>
      <Curl request={{ method: 'POST', path: '/user/tokens', body }} />
    </Panel>
  );
}

function bodyOf(draft: Draft, groups: readonly PermissionGroup[], user: string) {
  const networks = draft.networks.split(/[\s,]+/).filter(Boolean);
  const expires = endOf(draft.expires);
  return {
    name: draft.name,
    policies: policiesOf(draft, groups, user),
    ...(networks.length > 0 && { condition: { request_ip: { in: networks } } }),
    ...(expires !== undefined && { expires_on: expires }),
  };
}

interface FieldsProps {
  readonly draft: Draft;
  readonly groups: readonly PermissionGroup[];
  readonly onChange: (change: Partial<Draft>) => void;
}

function Fields({ draft, groups, onChange }: FieldsProps) {
  const toggle = (id: string): void =>
    onChange({
      groups: draft.groups.includes(id) ? draft.groups.filter((other) => other !== id) : [...draft.groups, id],
    });
  return (
    <>
      <TextField
        label="Name"
        required
        value={draft.name}
        placeholder="certbot on web1"
        onChange={(name) => onChange({ name })}
      />
      <Templates groups={groups} onChoose={onChange} />
      <details class="more">
        <summary>It may: {wordsOf(draft, groups)}</summary>
        <fieldset class="checks">
          <legend class="hidden">It may</legend>
          {groups.map(({ id, name }) => (
            <label key={id} class="check">
              <input type="checkbox" checked={draft.groups.includes(id)} onChange={() => toggle(id)} />
              <span>{WORDS[name] ?? name}</span>
            </label>
          ))}
        </fieldset>
      </details>
      <ZoneChoice zone={draft.zone} onChange={(zone) => onChange({ zone })} />
      <TextField
        label="Only these record types"
        value={draft.types}
        placeholder="TXT"
        onChange={(types) => onChange({ types })}
        hint="Several with spaces or commas between them, here and below. Empty: all."
      />
      <TextField
        label="Only these names of records"
        value={draft.names}
        placeholder="_acme-challenge.*"
        onChange={(names) => onChange({ names })}
        hint={
          <>
            For permissions on records; <code>*</code> stands for any characters. Empty: all.
          </>
        }
      />
      <TextField
        label="Only from these networks"
        value={draft.networks}
        placeholder="192.0.2.0/24"
        onChange={(networks) => onChange({ networks })}
      />
      <TextField label="Last day" type="date" value={draft.expires} onChange={(expires) => onChange({ expires })} />
    </>
  );
}

/** What is chosen, in words. */
function wordsOf(draft: Draft, groups: readonly PermissionGroup[]): string {
  const chosen = groups.filter(({ id }) => draft.groups.includes(id)).map(({ name }) => WORDS[name] ?? name);
  if (chosen.length === 0) return 'nothing yet – choose one by one';
  return chosen.length > MOST_TOLD ? `${chosen.length} things` : chosen.join(', ');
}

/** Permissions that are told one by one. */
const MOST_TOLD = 4;

interface TemplatesProps {
  readonly groups: readonly PermissionGroup[];
  readonly onChoose: (change: Partial<Draft>) => void;
}

/** What tokens are usually for; permissions can be changed afterwards. */
function Templates({ groups, onChoose }: TemplatesProps) {
  const [chosen, setChosen] = useState<string>();
  const about = TEMPLATES.find(({ name }) => name === chosen)?.about;
  return (
    <fieldset class="templates">
      <legend>What is it for?</legend>
      <div class="segments">
        {TEMPLATES.map((template) => (
          <label key={template.name}>
            <input
              type="radio"
              name="template"
              checked={template.name === chosen}
              onChange={() => {
                setChosen(template.name);
                onChoose(draftOf(template, groups));
              }}
            />
            <span>{template.name}</span>
          </label>
        ))}
      </div>
      {about !== undefined && <p class="hint">{about}</p>}
    </fieldset>
  );
}

interface ZoneChoiceProps {
  readonly zone: string | undefined;
  readonly onChange: (zone: string | undefined) => void;
}

/** Zones that are offered while a name is typed. */
const MOST_OFFERED = 20;

/** There may be a hundred thousand zones: the server is asked for those that contain what was typed. */
function ZoneChoice({ zone, onChange }: ZoneChoiceProps) {
  const [text, setText] = useState('');
  const id = useId();
  const name = text.trim().replace(/\.$/, '').toLowerCase();
  const query = { name: name && `contains:${name}`, per_page: MOST_OFFERED, order: 'name' };
  const { answer } = useLoad<Zone[]>(pathWith('/zones', query));
  const exact = useLoad<Zone[]>(name === '' ? undefined : pathWith('/zones', { name }));
  const ascii = asciiName({ name });
  const found = exact.answer?.result.find((one) => asciiName(one) === ascii)?.id;
  const chosen = name === '' ? '*' : found;
  useEffect(() => {
    if (chosen !== zone) onChange(chosen);
  }, [chosen, zone]);
  return (
    <div class="field">
      <label for={id}>In the zone</label>
      <input
        id={id}
        value={text}
        list={`${id}-zones`}
        placeholder="All zones"
        autocapitalize="none"
        spellcheck={false}
        aria-invalid={name !== '' && !exact.busy && found === undefined ? 'true' : undefined}
        onInput={(event) => {
          setText(event.currentTarget.value);
          // Not what the text before it meant, until the server has said what this one means.
          onChange(event.currentTarget.value.trim() === '' ? '*' : undefined);
        }}
      />
      <datalist id={`${id}-zones`}>
        {(answer?.result ?? []).map((one) => (
          <option key={one.id} value={one.name} />
        ))}
      </datalist>
      {name !== '' && !exact.busy && found === undefined && (
        <p class="problem" role="alert">
          You have no zone with this name.
        </p>
      )}
    </div>
  );
}

function Made({ token, onClose }: { readonly token: CreatedToken; readonly onClose: () => void }) {
  return (
    <Panel title={`The token “${token.name}” is made`}>
      <p class="lead">Copy its secret now. It is not shown again.</p>
      <Copyable text={token.value} label="secret" />
      <div class="actions">
        <Button class="primary" onClick={onClose} text="I have it" />
      </div>
    </Panel>
  );
}

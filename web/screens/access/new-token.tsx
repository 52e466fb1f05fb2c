/** Makes a token: permissions chosen in words, with the JSON that is sent beside them. */
import { useState } from 'preact/hooks';
import { call, pathWith } from '../../api.js';
import { useLoad, useSending } from '../../load.js';
import { Copyable, Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import type { CreatedToken, PermissionGroup, Zone } from '../../types.js';
import { type Draft, EMPTY, policiesOf, WORDS } from './token-draft.js';

interface NewTokenProps {
  readonly onMade: () => void;
  readonly onClose: () => void;
}

export function NewToken({ onMade, onClose }: NewTokenProps) {
  const groups = useLoad<PermissionGroup[]>('/user/tokens/permission_groups');
  const user = useLoad<{ readonly id: string }>('/user');
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const [made, setMade] = useState<CreatedToken>();
  const sending = useSending();
  if (made) return <Made token={made} onClose={onClose} />;
  if (!groups.answer) return groups.error ? <ErrorNote error={groups.error} /> : <Loading what="permissions" />;
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
          <Fields draft={draft} groups={list} onChange={(change) => setDraft({ ...draft, ...change })} />
          {sending.error && <ErrorNote error={sending.error} />}
          <div class="actions">
            <button type="submit" class="primary" disabled={sending.busy || draft.groups.length === 0}>
              {sending.busy ? 'Making…' : 'Make the token'}
            </button>
            <button type="button" onClick={onClose}>
              Cancel
            </button>
          </div>
          {draft.groups.length === 0 && <p class="hint">Choose at least one permission.</p>}
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
  return {
    name: draft.name,
    policies: policiesOf(draft, groups, user),
    ...(networks.length > 0 && { condition: { request_ip: { in: networks } } }),
    ...(draft.expires !== '' && { expires_on: `${draft.expires}T00:00:00Z` }),
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
      <label class="field">
        <span>Name</span>
        <input
          required
          value={draft.name}
          placeholder="certbot on web1"
          onInput={(event) => onChange({ name: event.currentTarget.value })}
        />
      </label>
      <fieldset class="checks">
        <legend>It may</legend>
        {groups.map(({ id, name }) => (
          <label key={id} class="check">
            <input type="checkbox" checked={draft.groups.includes(id)} onChange={() => toggle(id)} />
            <span>{WORDS[name] ?? name}</span>
          </label>
        ))}
      </fieldset>
      <ZoneChoice draft={draft} onChange={onChange} />
      <label class="field">
        <span>Only these record types</span>
        <input
          value={draft.types}
          placeholder="TXT"
          onInput={(event) => onChange({ types: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>Only these names of records</span>
        <input
          value={draft.names}
          placeholder="_acme-challenge.*"
          onInput={(event) => onChange({ names: event.currentTarget.value })}
        />
        <span class="hint">
          For permissions on records; <code>*</code> stands for any characters. Empty: all.
        </span>
      </label>
      <label class="field">
        <span>Only from these networks</span>
        <input
          value={draft.networks}
          placeholder="192.0.2.0/24"
          onInput={(event) => onChange({ networks: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>Ends on</span>
        <input
          type="date"
          value={draft.expires}
          onInput={(event) => onChange({ expires: event.currentTarget.value })}
        />
      </label>
    </>
  );
}

function ZoneChoice({ draft, onChange }: Omit<FieldsProps, 'groups'>) {
  const { answer } = useLoad<Zone[]>(pathWith('/zones', { per_page: 50, order: 'name' }));
  return (
    <label class="field">
      <span>In the zone</span>
      <select value={draft.zone} onChange={(event) => onChange({ zone: event.currentTarget.value })}>
        <option value="*">All zones</option>
        {(answer?.result ?? []).map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Made({ token, onClose }: { readonly token: CreatedToken; readonly onClose: () => void }) {
  return (
    <Panel title={`The token “${token.name}” is made`}>
      <p class="lead">Copy its secret now. It is not shown again.</p>
      <Copyable text={token.value} label="secret" />
      <div class="actions">
        <button type="button" class="primary" onClick={onClose}>
          I have it
        </button>
      </div>
    </Panel>
  );
}

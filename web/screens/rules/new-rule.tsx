/** The form for a new rule: patterns and values for most, an expression where those do not suffice. */
import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { ChoiceField, Form, Switch, TextField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import type { PhaseOfRules } from './phases.js';

interface Props {
  readonly phase: PhaseOfRules;
  /** How it is sent. */
  readonly where: {
    readonly method: string;
    readonly path: string;
    readonly bodyOf: (rule: object) => object;
  };
  readonly onAdded: () => void;
}

interface Draft {
  readonly description: string;
  readonly when: string;
  readonly to: string;
  readonly status: string;
  readonly keepsQuery: boolean;
  readonly operation: string;
  readonly field: string;
}

const EMPTY: Draft = {
  ...{ description: '', when: '', to: '', status: '301', keepsQuery: true, operation: 'set', field: '' },
};

export function NewRule({ phase, where, onAdded }: Props) {
  const [draft, setDraft] = useState(EMPTY);
  const [isOpen, setOpen] = useState(false);
  const sending = useSending();
  const change = (part: Partial<Draft>): void => setDraft({ ...draft, ...part });
  const body = where.bodyOf(ruleOf(phase, draft));
  const submit = (): void =>
    void sending.run(async () => {
      await call(where.method, where.path, { body });
      setDraft(EMPTY);
      setOpen(false);
      onAdded();
    });
  if (!isOpen) {
    return (
      <div class="actions">
        <button type="button" onClick={() => setOpen(true)}>
          Add to {phase.title.toLowerCase()}
        </button>
      </div>
    );
  }
  return (
    <>
      <Form
        onSubmit={submit}
        sending={sending}
        verb="Add the rule"
        doing="Adding…"
        onCancel={() => {
          sending.clear();
          setOpen(false);
        }}
      >
        <TextField
          label="Name of the rule"
          value={draft.description}
          onChange={(description) => change({ description })}
        />
        <TextField
          label="When"
          hint="A pattern of URLs, in which * stands for any characters, or an expression. Empty: every request"
          spellcheck={false}
          autocapitalize="none"
          value={draft.when}
          placeholder="https://www.example.com/old/*"
          onChange={(when) => change({ when })}
        />
        <Then phase={phase} draft={draft} onChange={change} />
      </Form>
      <Curl request={{ method: where.method, path: where.path, body }} />
    </>
  );
}

interface ThenProps {
  readonly phase: PhaseOfRules;
  readonly draft: Draft;
  readonly onChange: (part: Partial<Draft>) => void;
}

function Then({ phase: { kind }, draft, onChange }: ThenProps) {
  const typed = { spellcheck: false, autocapitalize: 'none' as const };
  if (kind === 'redirect') {
    return (
      <>
        <TextField
          label="To"
          hint="A URL; ${1} is what the first * of the pattern stands for"
          required
          {...typed}
          value={draft.to}
          placeholder="https://www.example.com/new/${1}"
          onChange={(to) => onChange({ to })}
        />
        <ChoiceField
          label="Status"
          value={draft.status}
          onChange={(status) => onChange({ status })}
          choices={['301', '302', '303', '307', '308'].map((status) => [status, status] as const)}
        />
        <Switch
          label="Keep the query of the request"
          checked={draft.keepsQuery}
          onChange={(keepsQuery) => onChange({ keepsQuery })}
        />
      </>
    );
  }
  if (kind === 'uri') {
    return (
      <TextField
        label="Path for the origin"
        required
        {...typed}
        value={draft.to}
        placeholder="/new"
        onChange={(to) => onChange({ to })}
      />
    );
  }
  return (
    <>
      <ChoiceField
        label="What happens to the field"
        value={draft.operation}
        onChange={(operation) => onChange({ operation })}
        choices={[
          ['set', 'It is set'],
          ['add', 'Another one is added'],
          ['remove', 'It is removed'],
        ]}
      />
      <TextField
        label="Name of the field"
        required
        {...typed}
        value={draft.field}
        placeholder="X-Robots-Tag"
        onChange={(field) => onChange({ field })}
      />
      {draft.operation !== 'remove' && (
        <TextField
          label="Value"
          required
          {...typed}
          value={draft.to}
          placeholder="noindex"
          onChange={(to) => onChange({ to })}
        />
      )}
    </>
  );
}

function ruleOf({ kind }: PhaseOfRules, draft: Draft): object {
  const { description, to, operation, field } = draft;
  const pattern = patternOf(draft.when);
  const expression = pattern ? `http.request.full_uri wildcard ${quoted(pattern.text)}` : draft.when.trim() || 'true';
  const parts = { expression, ...(description !== '' && { description }), enabled: true };
  if (kind === 'redirect') {
    const isDynamic = pattern !== undefined && to.includes('$');
    const target_url = isDynamic
      ? {
          expression: `wildcard_replace(http.request.full_uri, ${quoted(pattern.text)}, ${quoted(shifted(to, pattern.added))})`,
        }
      : { value: to };
    const preserve_query_string = draft.keepsQuery && !to.includes('?');
    const from_value = { target_url, status_code: Number(draft.status), preserve_query_string };
    return { action: 'redirect', ...parts, action_parameters: { from_value } };
  }
  const action_parameters =
    kind === 'uri'
      ? { uri: { path: { value: to } } }
      : { headers: { [field]: operation === 'remove' ? { operation } : { operation, value: to } } };
  return { action: 'rewrite', ...parts, action_parameters };
}

interface Pattern {
  readonly text: string;
  /** How many stars it has before those that were written. */
  readonly added: number;
}

/** What begins like a URL is a pattern; anything else is an expression. */
function patternOf(when: string): Pattern | undefined {
  const text = when.trim();
  if (/^(?:https?:|http\*:|\*)\S*$/.test(text)) return { text, added: 0 };
  const isHost = /^[a-z0-9*-]+(?:\.[a-z0-9*-]+)+\/\S*$/i.test(text);
  return isHost ? { text: `http*://${text}`, added: 1 } : undefined;
}

function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`;
}

/** A target whose references count the stars that were written. */
function shifted(to: string, added: number): string {
  return to.replace(/\$\{(\d+)\}/g, (_, number: string) => `\${${Number(number) + added}}`);
}

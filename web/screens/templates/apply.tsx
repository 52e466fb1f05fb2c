/** Applies a template to zones: what it would do is shown first. */
import { useState } from 'preact/hooks';
import { ApiError, call, pathWith } from '../../api.js';
import { Form, LinesField, Switch, TextField } from '../../kit/form.js';
import { useLoad, useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { contentText } from '../../parts/record.js';
import type { DnsRecord, DnsTemplate, Message, TemplateApplication, TemplateZone, Zone } from '../../types.js';

interface ApplyProps {
  readonly path: string;
  readonly template: DnsTemplate;
  readonly onClose: () => void;
}

export function Apply({ path, template, onClose }: ApplyProps) {
  const before = useLoad<TemplateZone[]>(`${path}/zones`).answer?.result ?? [];
  const [names, setNames] = useState<string>();
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [force, setForce] = useState(false);
  const [results, setResults] = useState<readonly TemplateApplication[]>();
  const sending = useSending();
  const typed = names ?? before.map(({ name }) => name).join('\n');
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ''));
  const change =
    <Value,>(set: (value: Value) => void) =>
    (value: Value): void => {
      set(value);
      setResults(undefined);
    };
  const send = (preview: boolean): void =>
    void sending.run(async () => {
      const zones = await zonesNamed(typed);
      const answer = await call<TemplateApplication[]>('POST', `${path}/apply`, {
        body: { zones, values: given, preview, force },
      });
      setResults(answer.result);
    });
  const isPreviewed = results?.some(({ status }) => status === 'preview') === true;
  return (
    <Panel title={`Apply ${template.name}`}>
      <Form
        onSubmit={() => send(!isPreviewed)}
        sending={sending}
        verb={isPreviewed ? 'Apply it' : 'Show what it would do'}
        doing="Working…"
        onCancel={onClose}
      >
        <LinesField
          label="Zones"
          hint="Names, one on each line, up to 100"
          rows={Math.min(12, Math.max(3, typed.split('\n').length))}
          spellcheck={false}
          required
          value={typed}
          onChange={change<string>(setNames)}
        />
        {template.variables.map(({ name, type, default: usual, description }) => (
          <TextField
            key={name}
            label={`${name} (${type})`}
            hint={description ?? 'Empty: the value that it had in the zone, or the default'}
            placeholder={usual ?? ''}
            spellcheck={false}
            value={values[name] ?? ''}
            onChange={change<string>((value) => setValues({ ...values, [name]: value }))}
          />
        ))}
        <Switch
          label="Overwrite what was edited by hand, and what others made"
          checked={force}
          onChange={change<boolean>(setForce)}
        />
      </Form>
      {results && <Results results={results} />}
      <Curl
        request={{ method: 'POST', path: `${path}/apply`, body: { zones: [], values: given, preview: true, force } }}
      />
    </Panel>
  );
}

/** Identifiers of the zones whose names were typed. */
async function zonesNamed(typed: string): Promise<string[]> {
  const ids: string[] = [];
  for (const name of typed.split(/\s+/).filter(Boolean)) {
    const { result } = await call<Zone[]>('GET', pathWith('/zones', { name: name.replace(/\.$/, '') }));
    const zone = result[0];
    if (!zone) throw new ApiError(0, [{ code: 0, message: `There is no zone ${name}.` }]);
    ids.push(zone.id);
  }
  return ids;
}

const WORDS = { applied: 'applied', unchanged: 'nothing to do', preview: 'would change', failed: 'refused' } as const;
const SIGNS = { create: '+', change: '~', delete: '−' } as const;
const HEARD = { create: 'Added: ', change: 'Changed: ', delete: 'Removed: ' } as const;
const REASONS = {
  edited: 'was edited by hand and stays',
  deleted: 'was deleted by hand and is not made again',
  other: 'does not come from the template, differs, and stays',
} as const;

function Results({ results }: { readonly results: readonly TemplateApplication[] }) {
  return results.map((result) => <Result key={result.zone.id} result={result} />);
}

function Result({
  result: { zone, status, changes, conflicts, unchanged, errors },
}: {
  readonly result: TemplateApplication;
}) {
  const isIdle = status === 'preview' && changes.length === 0;
  return (
    <section aria-label={zone.name ?? zone.id}>
      <h3>
        <bdi>{zone.name ?? zone.id}</bdi>: {isIdle ? WORDS.unchanged : WORDS[status]}
      </h3>
      {errors.length > 0 && <ErrorNote error={new ApiError(400, errors as readonly Message[])} />}
      {unchanged > 0 && <p class="muted">{unchanged} records are as the template has them.</p>}
      {changes.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class="diff" aria-label={`Changes of ${zone.name}`} tabIndex={0}>
          {changes.map(({ action, before, after }) => (
            <div key={`${action} ${(after ?? before)!.id}`} class={action === 'delete' ? 'removed' : 'added'}>
              <span aria-hidden="true">{SIGNS[action]}</span>
              <span class="hidden">{HEARD[action]}</span>
              <code>{lineOf((after ?? before)!)}</code>
            </div>
          ))}
        </section>
      )}
      {conflicts.length > 0 && (
        <ul>
          {conflicts.map(({ reason, record, wanted }) => (
            <li key={`${reason} ${record?.id ?? wanted?.content}`}>
              <code>{record ? lineOf(record) : `${wanted!.name} ${wanted!.type} ${wanted!.content}`}</code>{' '}
              {REASONS[reason]}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function lineOf(record: DnsRecord): string {
  return `${record.name}  ${record.ttl === 1 ? 'auto' : record.ttl}  ${record.type}  ${contentText(record)}`;
}

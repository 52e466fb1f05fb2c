/** The rules of one phase, in their order: moved, switched off, edited, deleted, and a form for a new one. */

import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.js';
import { Form, LinesField, TextField } from '../../kit/form.js';
import { ListState, ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { RowButton } from '../../parts/row-button.js';
import type { Rule, Ruleset } from '../../types.js';
import { NewRule } from './new-rule.js';
import { effectOf, type PhaseOfRules } from './phases.js';

interface Props {
  /** Path of the rulesets of the zone. */
  readonly path: string;
  readonly phase: PhaseOfRules;
  /** Identifier; undefined: there is none yet. */
  readonly ruleset: string | undefined;
  readonly writes: boolean;
  /** The phase has its ruleset now. */
  readonly onMade: () => void;
}

export function RulesOfPhase({ path, phase, ruleset, writes, onMade }: Props) {
  const own = ruleset === undefined ? undefined : `${path}/${ruleset}`;
  const loaded = useLoad<Ruleset>(own);
  const rules = loaded.answer?.result.rules ?? [];
  const where =
    own === undefined
      ? {
          method: 'PUT',
          path: `${path}/phases/${phase.name}/entrypoint`,
          bodyOf: (rule: object) => ({ rules: [rule] }),
        }
      : { method: 'POST', path: `${own}/rules`, bodyOf: (rule: object) => rule };
  return (
    <Panel title={phase.title}>
      <p class="muted">{phase.about}</p>
      {own !== undefined && <ListState loaded={loaded} what="the rules" />}
      {rules.length > 0 && own !== undefined && (
        <Table path={own} title={phase.title} rules={rules} writes={writes} onChange={loaded.reload} />
      )}
      {(own === undefined || loaded.answer) && rules.length === 0 && <p class="muted">There are no rules here.</p>}
      {writes && <NewRule phase={phase} where={where} onAdded={own === undefined ? onMade : loaded.reload} />}
    </Panel>
  );
}

interface TableProps {
  readonly path: string;
  readonly title: string;
  readonly rules: readonly Rule[];
  readonly writes: boolean;
  readonly onChange: () => void;
}

function Table({ path, title, rules, writes, onChange }: TableProps) {
  const [edited, setEdited] = useState<string>();
  const sending = useSending(onChange);
  const change = (id: string, body: object): void => void sending.send('PATCH', `${path}/rules/${id}`, { body });
  const rule = rules.find(({ id }) => id === edited);
  return (
    <>
      <ListTable
        label={`List of rules: ${title}`}
        columns={['Rule', 'When', 'Then']}
        actions={writes}
        items={rules.map((one, i) => ({ one, i }))}
        keyOf={({ one }) => one.id}
        row={({ one, i }) => (
          <tr>
            <th scope="row">
              {nameOf(one, i)} {!one.enabled && <span class="muted">off</span>}
            </th>
            <td class="mono">{one.expression}</td>
            <td class="mono">{effectOf(one.action_parameters)}</td>
            {writes && (
              <td class="row-actions">
                <RowActions
                  name={nameOf(one, i)}
                  place={i}
                  rule={one}
                  busy={sending.busy}
                  onChange={(body) => change(one.id, body)}
                  onEdit={() => setEdited(edited === one.id ? undefined : one.id)}
                  onDelete={() => void sending.send('DELETE', `${path}/rules/${one.id}`)}
                />
              </td>
            )}
          </tr>
        )}
      />
      {sending.error && <ErrorNote error={sending.error} />}
      {rule && (
        <EditRule
          key={`${rule.id} ${rule.version}`}
          path={`${path}/rules/${rule.id}`}
          rule={rule}
          onDone={() => {
            setEdited(undefined);
            onChange();
          }}
          onCancel={() => setEdited(undefined)}
        />
      )}
    </>
  );
}

const nameOf = ({ description }: Rule, place: number): string => description || `Rule ${place + 1}`;

interface RowProps {
  readonly name: string;
  /** From 0. */
  readonly place: number;
  readonly rule: Rule;
  readonly busy: boolean;
  readonly onChange: (body: object) => void;
  readonly onEdit: () => void;
  readonly onDelete: () => void;
}

function RowActions({ name, place, rule, busy, onChange, onEdit, onDelete }: RowProps) {
  const switched = rule.enabled ? 'Switch off' : 'Switch on';
  return (
    <>
      {place > 0 && (
        <Button
          class="quiet"
          disabled={busy}
          aria-label={`Move ${name} up`}
          onClick={() => onChange({ position: { index: place } })}
          text="↑"
        />
      )}
      <RowButton verb="Edit" what={name} onClick={onEdit} />
      <Button
        class="quiet"
        disabled={busy}
        aria-label={`${switched} ${name}`}
        onClick={() => onChange({ enabled: !rule.enabled })}
        text={switched}
      />
      <Confirm what={name} busy={busy} quiet onConfirm={onDelete} />
    </>
  );
}

interface EditProps {
  readonly path: string;
  readonly rule: Rule;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

function EditRule({ path, rule, onDone, onCancel }: EditProps) {
  const [description, setDescription] = useState(rule.description ?? '');
  const [expression, setExpression] = useState(rule.expression);
  const [parameters, setParameters] = useState(JSON.stringify(rule.action_parameters, undefined, 2));
  const sending = useSending(onDone);
  const parsed = parsedJson(parameters);
  const body = { description, expression, action_parameters: parsed };
  return (
    <>
      <Form
        onSubmit={() => void sending.send('PATCH', path, { body })}
        sending={sending}
        verb="Save the rule"
        doing="Saving…"
        disabled={parsed === undefined}
        onCancel={onCancel}
      >
        <TextField label="Name of the rule" value={description} onChange={setDescription} />
        <LinesField label="When (expression)" required spellcheck={false} value={expression} onChange={setExpression} />
        <LinesField
          label="Then (parameters as JSON)"
          hint={parsed === undefined && 'This is not JSON.'}
          required
          rows={8}
          spellcheck={false}
          value={parameters}
          onChange={setParameters}
        />
      </Form>
      <Curl request={{ method: 'PATCH', path, body }} />
    </>
  );
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

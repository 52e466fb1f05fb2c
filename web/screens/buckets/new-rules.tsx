/** Forms that add a rule to a bucket. */
import { useState } from 'preact/hooks';
import { ChoiceField, Form, TextField } from '../../kit/form.js';
import type { Sending } from '../../load.js';
import type { BucketCorsRule, BucketLifecycleRule, BucketLockRule } from '../../types.js';

interface NewRuleProps<Rule> {
  readonly rules: readonly Rule[];
  readonly sending: Sending;
  /** Whether they were stored. */
  readonly onSave: (rules: readonly Rule[]) => Promise<boolean>;
}

const DAY = 86_400;
const METHODS = [
  ['GET HEAD', 'read'],
  ['GET HEAD PUT', 'read and store'],
  ['GET HEAD PUT POST DELETE', 'read, store and delete'],
] as const;

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

export function NewCorsRule({ rules, sending, onSave }: NewRuleProps<BucketCorsRule>) {
  const [origins, setOrigins] = useState('');
  const [methods, setMethods] = useState<string>(METHODS[0][0]);
  const [headers, setHeaders] = useState('*');
  const submit = async (): Promise<void> => {
    const allowed = {
      methods: wordsOf(methods) as BucketCorsRule['allowed']['methods'],
      origins: wordsOf(origins),
      ...(headers !== '' && { headers: wordsOf(headers) }),
    };
    if (await onSave([...rules, { allowed, exposeHeaders: ['ETag'], maxAgeSeconds: 3600 }])) setOrigins('');
  };
  return (
    <Form onSubmit={submit} sending={sending} verb="Allow the origin" doing="Saving…">
      <TextField
        label="Origins"
        hint="Separated by blanks; * stands for any text in one."
        required
        spellcheck={false}
        autocapitalize="none"
        placeholder="https://www.example.com"
        value={origins}
        onChange={setOrigins}
      />
      <ChoiceField label="May" value={methods} onChange={setMethods} choices={METHODS} />
      <TextField
        label="With headers"
        hint="* allows all; empty: none but the simple ones."
        spellcheck={false}
        autocapitalize="none"
        value={headers}
        onChange={setHeaders}
      />
    </Form>
  );
}

const DEEDS = [
  ['delete', 'Delete objects'],
  ['cool', 'Make them infrequent access'],
  ['uploads', 'Give up unfinished uploads'],
] as const;

export function NewLifecycleRule({ rules, sending, onSave }: NewRuleProps<BucketLifecycleRule>) {
  const [name, setName] = useState('');
  const [prefix, setPrefix] = useState('');
  const [deed, setDeed] = useState<string>('delete');
  const [days, setDays] = useState('');
  const submit = async (): Promise<void> => {
    const condition = { type: 'Age' as const, maxAge: Number(days) * DAY };
    const rule = {
      ...{ id: name.trim(), enabled: true, conditions: { prefix } },
      ...(deed === 'delete' && { deleteObjectsTransition: { condition } }),
      ...(deed === 'uploads' && { abortMultipartUploadsTransition: { condition } }),
      ...(deed === 'cool' && { storageClassTransitions: [{ condition, storageClass: 'InfrequentAccess' as const }] }),
    };
    if (await onSave([...rules, rule])) for (const clear of [setName, setPrefix, setDays]) clear('');
  };
  return (
    <Form onSubmit={submit} sending={sending} verb="Add the lifecycle rule" doing="Saving…">
      <TextField label="Name of the rule" required value={name} onChange={setName} />
      <Prefix value={prefix} onChange={setPrefix} />
      <ChoiceField label="What happens" value={deed} onChange={setDeed} choices={DEEDS} />
      <Days label="After days" value={days} onChange={setDays} />
    </Form>
  );
}

const SPANS = [
  ['age', 'for days after the upload'],
  ['date', 'until a date'],
  ['ever', 'indefinitely'],
] as const;

export function NewLock({ rules, sending, onSave }: NewRuleProps<BucketLockRule>) {
  const [name, setName] = useState('');
  const [prefix, setPrefix] = useState('');
  const [span, setSpan] = useState<string>('age');
  const [days, setDays] = useState('');
  const [date, setDate] = useState('');
  const submit = async (): Promise<void> => {
    const condition =
      span === 'age'
        ? { type: 'Age' as const, maxAgeSeconds: Number(days) * DAY }
        : span === 'date'
          ? { type: 'Date' as const, date: `${date}T00:00:00Z` }
          : { type: 'Indefinite' as const };
    const rule = { id: name.trim(), enabled: true, ...(prefix !== '' && { prefix }), condition };
    if (await onSave([...rules, rule])) for (const clear of [setName, setPrefix, setDays, setDate]) clear('');
  };
  return (
    <Form onSubmit={submit} sending={sending} verb="Add the lock" doing="Saving…">
      <TextField label="Name of the lock" required value={name} onChange={setName} />
      <Prefix value={prefix} onChange={setPrefix} />
      <ChoiceField label="Locked" value={span} onChange={setSpan} choices={SPANS} />
      {span === 'age' && <Days label="Days" value={days} onChange={setDays} />}
      {span === 'date' && <TextField label="Date" type="date" required narrow value={date} onChange={setDate} />}
    </Form>
  );
}

interface OneProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Prefix({ value, onChange }: OneProps) {
  return (
    <TextField
      label="Keys that begin with"
      hint="Empty: all of them."
      spellcheck={false}
      autocapitalize="none"
      value={value}
      onChange={onChange}
    />
  );
}

function Days({ label, value, onChange }: OneProps & { readonly label: string }) {
  return (
    <TextField label={label} type="number" min={1} max={36_500} required narrow value={value} onChange={onChange} />
  );
}

/** One setting of a zone: what it does, its control, and whether the last change was saved. Changes are saved at once. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { call } from '../../api.js';
import { type Sending, useSending } from '../../load.js';
import { ErrorNote } from '../../parts/notes.js';
import { Time } from '../../parts/time.js';
import type { ZoneSetting } from '../../types.js';
import type { About, SettingValue } from './catalog.js';
import { Duration, inWords } from './duration.js';
import { headerOf, SecurityHeader } from './security-header.js';

interface Saving {
  /** The newest that is known to be stored. */
  readonly stored: ZoneSetting;
  /** What was chosen last, or what is stored. */
  readonly value: SettingValue;
  readonly sending: Sending;
  readonly isSaved: boolean;
  readonly send: (value: SettingValue | null) => void;
}

/** Sends one change after the other, so that the last one counts. `onSaved` must read the setting again. */
function useSaving(item: ZoneSetting, path: string, onSaved: () => void): Saving {
  const sending = useSending();
  const [wanted, setWanted] = useState<SettingValue>();
  const [answered, setAnswered] = useState<ZoneSetting>();
  const [isSaved, setSaved] = useState(false);
  const before = useRef<Promise<unknown>>(Promise.resolve());
  const last = useRef(0);
  const send = async (value: SettingValue | null): Promise<void> => {
    last.current += 1;
    const turn = last.current;
    setWanted(value ?? undefined);
    setSaved(false);
    const done = await sending.run(async () => {
      const sent = before.current.then(() => call<ZoneSetting>('PATCH', path, { body: { value } }));
      before.current = sent.catch(() => {});
      setAnswered((await sent).result);
      onSaved();
    });
    if (turn !== last.current) return;
    setWanted(undefined);
    setSaved(done);
  };
  // A list that was asked for before the change may come after it.
  const stored = answered && (item.modified_on ?? '') < (answered.modified_on ?? '') ? answered : item;
  return { stored, value: wanted ?? stored.value, sending, isSaved, send: (value) => void send(value) };
}

interface SettingProps {
  readonly about: About;
  readonly item: ZoneSetting;
  /** Path of the zone's settings. */
  readonly base: string;
  readonly note: string | undefined;
  readonly writes: boolean;
  readonly onSaved: () => void;
}

export function Setting({ about, item, base, note, writes, onSaved }: SettingProps) {
  const { stored, value, sending, isSaved, send } = useSaving(item, `${base}/${item.id}`, onSaved);
  const id = useId();
  const { error, busy } = sending;
  return (
    <div class="setting">
      <div>
        <h3 id={id}>{about.name}</h3>
        <p class="muted">{about.does}</p>
        {note !== undefined && <p class="hint">{note}</p>}
        <Ending item={stored} />
      </div>
      <div class="setting-control">
        {writes ? (
          <ControlOf about={about} value={value} stored={stored.value} labelledBy={id} onSend={send} />
        ) : (
          <p>{valueInWords(about, stored.value)}</p>
        )}
        <span class="hint" role="status">
          {busy ? 'Saving…' : isSaved ? 'Saved' : ''}
        </span>
      </div>
      {error && (
        <div class="setting-error">
          <ErrorNote error={error} />
          {about.takes !== undefined && <p class="hint">{about.takes} What is stored has not changed.</p>}
        </div>
      )}
    </div>
  );
}

/** When development mode ends by itself. */
function Ending({ item }: { readonly item: ZoneSetting }) {
  const { time_remaining: seconds = 0 } = item;
  const [end, setEnd] = useState<string>();
  useEffect(() => {
    setEnd(seconds > 0 ? new Date(Date.now() + seconds * 1000).toISOString() : undefined);
  }, [item]);
  if (end === undefined) return null;
  return (
    <p class="hint">
      Ends <Time at={end} exact />.
    </p>
  );
}

interface ControlProps {
  readonly about: About;
  readonly value: SettingValue;
  readonly stored: SettingValue;
  /** Identifier of the heading. */
  readonly labelledBy: string;
  readonly onSend: (value: SettingValue | null) => void;
}

function ControlOf({ about: { control, name }, value, stored, labelledBy, onSend }: ControlProps) {
  if (control.kind === 'duration') return <Duration name={name} stored={Number(stored)} onSend={onSend} />;
  if (control.kind === 'header') return <SecurityHeader value={value} stored={stored} onSend={onSend} />;
  if (control.kind === 'choice') {
    const known = control.choices.some(([choice]) => choice === value);
    return (
      <select
        aria-labelledby={labelledBy}
        value={String(value)}
        onChange={(event) => onSend(event.currentTarget.value)}
      >
        {!known && <option value={String(value)}>{String(value)}</option>}
        {control.choices.map(([choice, words]) => (
          <option key={choice} value={choice}>
            {words}
          </option>
        ))}
      </select>
    );
  }
  const isOn = value !== 'off';
  return (
    <label class="check switch">
      <input
        type="checkbox"
        role="switch"
        aria-checked={isOn}
        aria-labelledby={labelledBy}
        checked={isOn}
        onChange={(event) => onSend(event.currentTarget.checked ? 'on' : 'off')}
      />
    </label>
  );
}

/** For who may not change it. */
function valueInWords({ control }: About, value: SettingValue): string {
  if (control.kind === 'duration') return inWords(Number(value));
  if (control.kind === 'choice') return control.choices.find(([choice]) => choice === value)?.[1] ?? String(value);
  if (control.kind === 'switch') return value === 'off' ? 'Off' : 'On';
  const { enabled, max_age: seconds } = headerOf(value);
  return enabled ? `On, for ${inWords(seconds)}` : 'Off';
}

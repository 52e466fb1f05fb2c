/** A time as a number and its unit. */
import { useEffect, useState } from 'preact/hooks';

const UNITS = [
  ['days', 86_400],
  ['hours', 3600],
  ['minutes', 60],
  ['seconds', 1],
] as const;

interface Parts {
  readonly text: string;
  /** Seconds. */
  readonly unit: number;
}

/** In the largest unit of which it is a multiple. */
function partsOf(seconds: number): Parts {
  const [, unit] = UNITS.find(([, size]) => seconds !== 0 && seconds % size === 0) ?? UNITS.at(-1)!;
  return { text: String(seconds / unit), unit };
}

/** `2 hours` */
export function inWords(seconds: number): string {
  const { text, unit } = partsOf(seconds);
  const [words] = UNITS.find(([, size]) => size === unit)!;
  return `${text} ${text === '1' ? words.slice(0, -1) : words}`;
}

interface DurationProps {
  readonly name: string;
  /** Seconds. */
  readonly stored: number;
  /** Null: the field has no number. */
  readonly onSend: (seconds: number | null) => void;
}

/** It is sent when the field is left or Enter is pressed. What was refused stays in the field. */
export function Duration({ name, stored, onSend }: DurationProps) {
  const [typed, setTyped] = useState<Parts>();
  useEffect(() => setTyped(undefined), [stored]);
  const shown = typed ?? partsOf(stored);
  const send = ({ text, unit }: Parts): void => onSend(text === '' ? null : Number(text) * unit);
  return (
    <span class="duration">
      <input
        type="number"
        min={0}
        step="any"
        aria-label={`${name}: number`}
        value={shown.text}
        onInput={(event) => setTyped({ ...shown, text: event.currentTarget.value })}
        onChange={(event) => send({ ...shown, text: event.currentTarget.value })}
      />
      <select
        aria-label={`${name}: unit`}
        value={String(shown.unit)}
        onChange={(event) => {
          const next = { ...shown, unit: Number(event.currentTarget.value) };
          setTyped(next);
          send(next);
        }}
      >
        {UNITS.map(([words, unit]) => (
          <option key={words} value={String(unit)}>
            {words}
          </option>
        ))}
      </select>
    </span>
  );
}

/** A TSIG key (RFC 8945) that another server has already. */

/** As `tsig-keygen` names them; the first is what it takes unless told otherwise. */
export const ALGORITHMS = [
  'hmac-sha256',
  'hmac-sha384',
  'hmac-sha512',
  'hmac-sha224',
  'hmac-sha1',
  'hmac-md5',
] as const;

export interface NewKey {
  readonly name: string;
  readonly algorithm: string;
  /** Base 64. */
  readonly secret: string;
}

export const NO_KEY: NewKey = { name: '', algorithm: ALGORITHMS[0], secret: '' };

interface KeyFieldsProps {
  readonly value: NewKey;
  readonly onChange: (value: NewKey) => void;
}

export function KeyFields({ value, onChange }: KeyFieldsProps) {
  const set = (change: Partial<NewKey>): void => onChange({ ...value, ...change });
  return (
    <>
      <label class="field">
        <span>Name of the key</span>
        <input
          required
          spellcheck={false}
          value={value.name}
          placeholder="transfer.example.com"
          onInput={(event) => set({ name: event.currentTarget.value })}
        />
        <span class="hint">Exactly as the other server has it.</span>
      </label>
      <label class="field">
        <span>Algorithm</span>
        <select value={value.algorithm} onChange={(event) => set({ algorithm: event.currentTarget.value })}>
          {ALGORITHMS.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Secret</span>
        <input
          type="password"
          required
          autocomplete="off"
          value={value.secret}
          onInput={(event) => set({ secret: event.currentTarget.value })}
        />
        <span class="hint">In base 64, as the key’s file has it.</span>
      </label>
    </>
  );
}

/** A TSIG key (RFC 8945) that another server has already. */
import { ChoiceField, TextField } from '../kit/form.js';

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
      <TextField
        label="Name of the key"
        required
        spellcheck={false}
        value={value.name}
        placeholder="transfer.example.com"
        onChange={(name) => set({ name })}
        hint="Exactly as the other server has it."
      />
      <ChoiceField
        label="Algorithm"
        value={value.algorithm}
        onChange={(algorithm) => set({ algorithm })}
        choices={ALGORITHMS.map((name) => [name, name] as const)}
      />
      <TextField
        label="Secret"
        type="password"
        required
        autocomplete="off"
        value={value.secret}
        onChange={(secret) => set({ secret })}
        hint="In base 64, as the key’s file has it."
      />
    </>
  );
}

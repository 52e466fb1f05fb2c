/** Strict-Transport-Security (RFC 6797): whether it is sent, and what it says. */
import { Switch } from '../../kit/form.js';
import type { SettingValue } from './catalog.js';
import { Duration } from './duration.js';

interface Header {
  readonly enabled: boolean;
  /** Seconds. */
  readonly max_age: number;
  readonly include_subdomains: boolean;
  readonly preload: boolean;
  readonly nosniff: boolean;
}

export function headerOf(value: SettingValue): Header {
  return (value as { readonly strict_transport_security: Header }).strict_transport_security;
}

/** A month: long enough to count, and over soon when it was a mistake. */
const FIRST_SECONDS = 30 * 86_400;

const SWITCHES = [
  ['include_subdomains', 'Also for all names below'],
  ['preload', 'May be built into browsers (preload)'],
  ['nosniff', 'Browsers must not guess media types (nosniff)'],
] as const;

interface SecurityHeaderProps {
  readonly value: SettingValue;
  readonly stored: SettingValue;
  readonly onSend: (value: SettingValue) => void;
}

export function SecurityHeader({ value, stored, onSend }: SecurityHeaderProps) {
  const header = headerOf(value);
  const send = (changes: Partial<Readonly<Record<keyof Header, boolean | number | null>>>): void =>
    onSend({ strict_transport_security: { ...header, ...changes } });
  return (
    <fieldset class="checks">
      <legend class="hidden">HSTS</legend>
      <Switch
        label="Send the header"
        checked={header.enabled}
        onChange={(enabled) => send({ enabled, max_age: header.max_age || (enabled ? FIRST_SECONDS : 0) })}
      />
      {header.enabled && (
        <>
          <Duration
            name="Remembered for"
            stored={headerOf(stored).max_age}
            onSend={(seconds) => send({ max_age: seconds })}
          />
          {SWITCHES.map(([member, words]) => (
            <Switch
              key={member}
              label={words}
              checked={header[member]}
              onChange={(checked) => send({ [member]: checked })}
            />
          ))}
        </>
      )}
    </fieldset>
  );
}

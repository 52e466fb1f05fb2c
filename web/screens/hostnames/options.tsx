/** What can be chosen for a custom hostname: its certificate, and where its requests go. */
import { ChoiceField, LinesField, TextField } from '../../kit/form.js';
import { AuthorityOptions } from '../../parts/certificate.js';
import { oneWord } from '../../parts/typed.js';
import type { CustomHostname } from '../../types.js';

type Ssl = NonNullable<CustomHostname['ssl']>;
type Method = Ssl['method'];
type TlsVersion = NonNullable<Ssl['settings']['min_tls_version']>;

/** As they are typed; what is empty is left to the service. */
export interface Options {
  readonly method: Method;
  readonly wildcard: boolean;
  readonly authority: string;
  readonly minimumTls: TlsVersion | '';
  readonly origin: string;
  readonly sni: string;
  /** One on each line, as `name: value`. */
  readonly metadata: string;
}

export const NO_OPTIONS: Options = {
  method: 'http',
  wildcard: false,
  authority: '',
  minimumTls: '',
  origin: '',
  sni: '',
  metadata: '',
};

export function optionsOf({ ssl, ...hostname }: CustomHostname): Options {
  return {
    method: ssl?.method ?? 'http',
    wildcard: ssl?.wildcard ?? false,
    authority: ssl?.certificate_authority ?? '',
    minimumTls: ssl?.settings.min_tls_version ?? '',
    origin: hostname.custom_origin_server ?? '',
    sni: hostname.custom_origin_sni ?? '',
    metadata: Object.entries(hostname.custom_metadata ?? {})
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
  };
}

function metadataOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

/** The members of a request that set what differs between two choices. The method and the type always go with `ssl`. */
export function changeOf(before: Options, after: Options): object {
  const ssl = {
    ...(after.authority !== before.authority && { certificate_authority: after.authority }),
    ...(after.wildcard !== before.wildcard && { wildcard: after.wildcard }),
    ...(after.minimumTls !== before.minimumTls && { settings: { min_tls_version: after.minimumTls } }),
  };
  const isOther = after.method !== before.method || Object.keys(ssl).length > 0;
  return {
    ...(isOther && { ssl: { method: after.method, type: 'dv', ...ssl } }),
    ...(after.origin !== before.origin && { custom_origin_server: oneWord(after.origin) }),
    ...(after.sni !== before.sni && { custom_origin_sni: oneWord(after.sni) }),
    ...(after.metadata !== before.metadata && { custom_metadata: metadataOf(after.metadata) }),
  };
}

interface MethodFieldProps {
  readonly options: Options;
  readonly onChange: (options: Options) => void;
}

export function MethodField({ options, onChange }: MethodFieldProps) {
  return (
    <ChoiceField
      label="Prove the certificate by"
      value={options.method}
      onChange={(value) => onChange({ ...options, method: value === 'txt' ? 'txt' : 'http' })}
    >
      <option value="http" disabled={options.wildcard}>
        HTTP: the name leads here
      </option>
      <option value="txt">TXT record</option>
    </ChoiceField>
  );
}

interface OptionFieldsProps extends MethodFieldProps {
  /** Without a certificate there is nothing to choose about it. */
  readonly hasCertificate: boolean;
  /** A version that was chosen once can be changed, not taken back. */
  readonly isTlsChosen: boolean;
}

export function OptionFields({ options, hasCertificate, isTlsChosen, onChange }: OptionFieldsProps) {
  const set = (change: Partial<Options>): void => onChange({ ...options, ...change });
  return (
    <>
      {hasCertificate && <CertificateFields options={options} isTlsChosen={isTlsChosen} onChange={set} />}
      <div class="fields">
        <TextField
          label="Origin server"
          spellcheck={false}
          autocapitalize="none"
          placeholder="the fallback origin"
          value={options.origin}
          onChange={(origin) => set({ origin })}
          hint="A record of this zone, to which the requests of this hostname alone go."
        />
        <TextField
          label="Name in TLS to the origin (SNI)"
          spellcheck={false}
          autocapitalize="none"
          placeholder="that of the origin server"
          value={options.sni}
          onChange={(sni) => set({ sni })}
          hint=":request_host_header: stands for the hostname itself."
        />
        <LinesField
          label="Metadata"
          rows={2}
          spellcheck={false}
          placeholder="customer: 4711"
          value={options.metadata}
          onChange={(metadata) => set({ metadata })}
          hint="One on each line, as name: value. For your own programs."
        />
      </div>
    </>
  );
}

interface CertificateFieldsProps {
  readonly options: Options;
  readonly isTlsChosen: boolean;
  readonly onChange: (change: Partial<Options>) => void;
}

function CertificateFields({ options, isTlsChosen, onChange }: CertificateFieldsProps) {
  return (
    <>
      <div class="fields">
        <ChoiceField
          label="Certificate authority"
          value={options.authority}
          onChange={(authority) => onChange({ authority })}
        >
          <option value="">chosen by the service</option>
          <AuthorityOptions />
        </ChoiceField>
        <ChoiceField
          label="Oldest version of TLS"
          value={options.minimumTls}
          onChange={(value) => onChange({ minimumTls: value as Options['minimumTls'] })}
        >
          {!isTlsChosen && <option value="">as in the settings of the zone</option>}
          {(['1.0', '1.1', '1.2', '1.3'] as const).map((version) => (
            <option key={version} value={version}>
              TLS {version}
            </option>
          ))}
        </ChoiceField>
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={options.wildcard}
          onChange={({ currentTarget: { checked } }) =>
            onChange({ wildcard: checked, ...(checked && { method: 'txt' as const }) })
          }
        />
        <span>
          Also cover all names one label below <span class="hint">A wildcard certificate needs the TXT record.</span>
        </span>
      </label>
    </>
  );
}

/** The form for an identity provider. */
import { useState } from 'preact/hooks';
import { call } from '../../../api.js';
import { ChoiceField, Form, LinesField, Switch, TextField } from '../../../kit/form.js';
import { useSending } from '../../../load.js';
import { Curl } from '../../../parts/curl.js';
import type { Provider } from '../../../types.js';
import { GroupMap } from './group-map.js';

const PATH = '/oidc_providers';

const EMPTY = {
  ...{ name: '', issuer: '', client_id: '', client_secret: '', scopes: 'openid email profile' },
  ...{ groups_claim: 'groups', group_map: [] as Provider['group_map'], domains: '' },
  ...{ creates: 'never' as Provider['creates'], updates_roles: false, trusts_email: false, trusts_factors: false },
};

type Draft = typeof EMPTY;

function draftOf(provider: Provider): Draft {
  const { id: _, has_secret: __, callback: ___, created_on: ____, modified_on: _____, ...rest } = provider;
  return { ...rest, client_secret: '', domains: provider.domains.join('\n') };
}

function bodyOf({ client_secret: secret, domains, ...rest }: Draft): object {
  const words = domains.split(/[\s,]+/).filter(Boolean);
  return { ...rest, domains: words, ...(secret !== '' && { client_secret: secret }) };
}

interface ProviderFormProps {
  readonly provider?: Provider;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

export function ProviderForm({ provider, onDone, onCancel }: ProviderFormProps) {
  const [draft, setDraft] = useState<Draft>(() => (provider ? draftOf(provider) : EMPTY));
  const sending = useSending();
  const edit = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const body = bodyOf(draft);
  const submit = (): void =>
    void sending.run(async () => {
      await (provider ? call('PUT', `${PATH}/${provider.id}`, { body }) : call('POST', PATH, { body }));
      onDone();
    });
  return (
    <Form sending={sending} verb="Save the provider" doing="Saving…" onSubmit={submit} onCancel={onCancel}>
      <Identity draft={draft} hasSecret={provider?.has_secret === true} onChange={edit} />
      <Rules draft={draft} onChange={edit} />
      <Curl request={{ method: 'POST', path: PATH, body: { ...body, client_secret: 'SECRET' } }} />
    </Form>
  );
}

interface PartProps {
  readonly draft: Draft;
  readonly onChange: (change: Partial<Draft>) => void;
}

function Identity({ draft, hasSecret, onChange }: PartProps & { readonly hasSecret: boolean }) {
  return (
    <>
      <TextField
        label="Name on the button"
        required
        maxLength={60}
        value={draft.name}
        placeholder="Example Ltd"
        onChange={(name) => onChange({ name })}
      />
      <TextField
        label="Issuer"
        type="url"
        required
        spellcheck={false}
        value={draft.issuer}
        placeholder="https://login.example.com"
        onChange={(issuer) => onChange({ issuer })}
      />
      <TextField
        label="Client identifier"
        required
        spellcheck={false}
        autocomplete="off"
        value={draft.client_id}
        onChange={(client_id) => onChange({ client_id })}
      />
      <TextField
        label="Client secret"
        type="password"
        autocomplete="off"
        hint={hasSecret ? 'Leave it empty to keep the present one.' : 'It is stored encrypted and never shown again.'}
        value={draft.client_secret}
        onChange={(client_secret) => onChange({ client_secret })}
      />
      <TextField label="Scopes" required value={draft.scopes} onChange={(scopes) => onChange({ scopes })} />
    </>
  );
}

function Rules({ draft, onChange }: PartProps) {
  return (
    <>
      <LinesField
        label="Domains of e-mail addresses"
        hint="Only addresses in these domains are accepted. Empty: all domains."
        rows={2}
        value={draft.domains}
        placeholder="example.com"
        onChange={(domains) => onChange({ domains })}
      />
      <ChoiceField
        label="Creates users for"
        value={draft.creates}
        choices={[
          ['never', 'Nobody: people are invited first'],
          ['mapped', 'Members of mapped groups'],
          ['always', 'Everybody'],
        ]}
        onChange={(creates) => onChange({ creates: creates as Draft['creates'] })}
      />
      <TextField
        label="Claim with the groups"
        hint="A path with dots, if the claim is nested."
        value={draft.groups_claim}
        onChange={(groups_claim) => onChange({ groups_claim })}
      />
      <GroupMap map={draft.group_map} onChange={(group_map) => onChange({ group_map })} />
      <Switch
        label="Roles follow the groups at each sign-in"
        checked={draft.updates_roles}
        onChange={(updates_roles) => onChange({ updates_roles })}
      />
      <Switch
        label="Trust all its addresses in these domains"
        hint="Without it, an address counts only if the provider says that it is verified."
        checked={draft.trusts_email}
        onChange={(trusts_email) => onChange({ trusts_email })}
      />
      <Switch
        label="Trust its second factor"
        checked={draft.trusts_factors}
        onChange={(trusts_factors) => onChange({ trusts_factors })}
      />
    </>
  );
}

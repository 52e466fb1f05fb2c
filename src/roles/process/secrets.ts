/** What processes that need no secrets do not get. */
import { SETTINGS, type SettingKey, type Settings } from '../../config/schema.js';

const SECRET = SETTINGS.filter(({ secret }) => secret);

/** Settings without their secrets, except for those named. */
export function withoutSecretSettings(settings: Settings, ...kept: readonly SettingKey[]): Settings {
  const withheld = SECRET.filter(({ key }) => !kept.includes(key)).map(({ key }) => [key, undefined]);
  return { ...settings, ...Object.fromEntries(withheld) };
}

/** An environment without the variables of secrets. */
export function withoutSecrets(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const secrets = SECRET.flatMap(({ environment: name }) => [name, `${name}_FILE`]);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !secrets.includes(name)));
}

/** Keys for S3, which only those need that read and write objects. */
export function withoutStorageKeys(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('AWS_')));
}

/**
 * The X.509 library, loaded after the reflection its container asks for; nothing else imports the package itself.
 * Give it DER only: it reads PEM with an expression that takes half a minute for 100 KB of bad text.
 */
import 'reflect-metadata';

export * from '@peculiar/x509';

/**
 * The X.509 library, loaded after the reflection package that its container requires; no other file imports the
 * package. Pass only DER: its PEM expression takes half a minute for 100 KB of invalid text.
 */
import 'reflect-metadata';

export * from '@peculiar/x509';

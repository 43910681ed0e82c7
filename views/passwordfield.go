package views

// PasswordCharsMin is the shortest password that the sign-up page promises to take.
const PasswordCharsMin = 12
